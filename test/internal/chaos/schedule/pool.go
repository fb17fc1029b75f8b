package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// PoolAction is one thing that a user does to pools and templates.
type PoolAction struct {
	At   time.Duration // since the begin of the run
	Kind Kind
	// Pool is the number of the pool, for Scale and DeleteMember.
	Pool     int
	Replicas int32 // for Scale
	// Member is where in the list of members the one to delete is, from 0 to 1.
	Member float64
	// Template is the number of the template, for EditTemplate.
	Template int
}

// String says what is done, for people.
func (a PoolAction) String() string {
	switch a.Kind {
	case Scale:
		return fmt.Sprintf("%s %d to %d", a.Kind, a.Pool, a.Replicas)
	case EditTemplate:
		return fmt.Sprintf("%s %d", a.Kind, a.Template)
	default:
		return fmt.Sprintf("%s of pool %d", a.Kind, a.Pool)
	}
}

const (
	// keeper is the number of the actor that keeps pools.
	keeper = uint64(1) << 61
	// keeperPause is the longest time between two things that are done to pools.
	keeperPause = 5 * time.Second
	// edits is how often each template is edited.
	edits = 2
)

// PoolActions returns what is done to pools and templates in a run of that length, in the order of time. most are the largest
// sizes of the pools, by their numbers; one of which it is 0 is never scaled.
func PoolActions(seed uint64, most []int32, templates int, length time.Duration) []PoolAction {
	u := user{random: newRandom(seed, keeper)}
	var all []PoolAction
	for at := u.upTo(keeperPause); at < length; at += u.upTo(keeperPause) {
		action := PoolAction{At: at, Kind: DeleteMember, Pool: u.random.IntN(len(most)), Member: u.random.Float64()}
		if size := most[action.Pool]; size > 0 && u.percent(40) {
			action.Kind, action.Replicas = Scale, u.random.Int32N(size+1)
		}
		all = append(all, action)
	}
	for template := range templates {
		for range edits {
			all = append(all, PoolAction{At: u.upTo(length), Kind: EditTemplate, Template: template})
		}
	}
	slices.SortStableFunc(all, func(a, b PoolAction) int { return cmp.Compare(a.At, b.At) })
	return all
}
