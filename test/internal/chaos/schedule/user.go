package schedule

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

const (
	// meanPause lies between two actions of a user; each is drawn evenly from nothing to twice as much.
	meanPause = 650 * time.Millisecond
	// newShare is how often, in percent, a user makes the next Sandbox while some were never made.
	newShare = 65
	// longestExpiry bounds the time until a shutdownTime that is near.
	longestExpiry = 4 * time.Second
	// longestGrace bounds the seconds that a Pod takes to terminate.
	longestGrace = 4
)

// state is what a user plans a Sandbox to be in. It follows from the actions, not from what the cluster makes of them.
type state int

const (
	absent state = iota
	living
	// expired Sandboxes are kept.
	expired
	// doubtful Sandboxes expire and are deleted then: they may be there or not.
	doubtful
)

// plan is what a user means one name to be.
type plan struct {
	name      string
	state     state
	suspended bool
	shape     Shape
}

// weighted is one choice out of several.
type weighted struct {
	kind   Kind
	weight int
}

// choices are what may be done in a state. Suspend stands for Resume, too, which is its turn when it is suspended.
func choices(s state) []weighted {
	switch s {
	case absent:
		return []weighted{{Create, 1}}
	case living:
		return []weighted{{Suspend, 34}, {Expire, 13}, {Revive, 3}, {Delete, 10}, {Recreate, 13}, {DeletePod, 15}, {Orphan, 3}, {Adopt, 9}}
	case expired:
		return []weighted{{Revive, 44}, {Suspend, 16}, {Expire, 6}, {Delete, 10}, {Recreate, 12}, {DeletePod, 4}, {Adopt, 8}}
	default:
		return []weighted{{Revive, 38}, {Delete, 20}, {Recreate, 24}, {Create, 18}}
	}
}

// user draws the actions of one user.
type user struct {
	random *rand.Rand
	fresh  []*plan // never made
	known  []*plan
}

// newRandom returns the source of chance of one actor.
func newRandom(seed, actor uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, actor))
}

// Actions returns what one user does to the Sandboxes of those names, which nobody else touches, in a run of that length.
// Users are numbered from 0.
func Actions(seed uint64, number int, names []string, length time.Duration) []Action {
	u := user{random: newRandom(seed, uint64(number)+1)}
	for _, name := range names {
		u.fresh = append(u.fresh, &plan{name: name})
	}
	var actions []Action
	for at := u.pause(); at < length && len(names) > 0; at += u.pause() {
		action := u.next()
		action.At = at
		actions = append(actions, action)
	}
	return actions
}

func (u *user) pause() time.Duration {
	return time.Duration(u.random.Int64N(int64(2 * meanPause))).Round(time.Millisecond)
}

func (u *user) next() Action {
	if len(u.fresh) > 0 && (len(u.known) == 0 || u.percent(newShare)) {
		p := u.fresh[0]
		u.fresh, u.known = u.fresh[1:], append(u.known, p)
		return u.act(p)
	}
	return u.act(u.known[u.random.IntN(len(u.known))])
}

// act draws an action for a name, and what the name is meant to be after it.
func (u *user) act(p *plan) Action {
	action := Action{Name: p.name, Kind: u.choose(choices(p.state))}
	if action.Kind == Suspend && p.suspended {
		action.Kind = Resume
	}
	switch action.Kind {
	case Create, Recreate, Adopt:
		action.Shape = u.shape()
		if action.Kind == Adopt {
			action.Shape.Disk, action.Shape.Service = p.shape.Disk, p.shape.Service
		}
	case Expire:
		action.Shutdown, action.Policy = u.expiry()
	}
	if action.Kind == Delete || action.Kind == Recreate {
		action.Cascade = metav1.DeletePropagationBackground
		if u.percent(25) {
			action.Cascade = metav1.DeletePropagationForeground
		}
	}
	p.follow(action)
	return action
}

func (u *user) upTo(most time.Duration) time.Duration {
	return time.Duration(u.random.Int64N(int64(most))).Round(time.Millisecond)
}

func (u *user) percent(share int) bool { return u.random.IntN(100) < share }

func (u *user) choose(from []weighted) Kind {
	sum := 0
	for _, c := range from {
		sum += c.weight
	}
	at := u.random.IntN(sum)
	for _, c := range from {
		if at < c.weight {
			return c.kind
		}
		at -= c.weight
	}
	return from[len(from)-1].kind
}

func (u *user) shape() Shape {
	s := Shape{Disk: u.percent(35), Service: u.percent(35), Suspended: u.percent(8)}
	if u.percent(40) {
		s.GraceSeconds = 1 + u.random.Int64N(longestGrace)
	}
	if u.percent(14) {
		s.Shutdown, s.Policy = u.expiry()
		s.Shutdown += time.Second
	}
	return s
}

// expiry draws the time until a shutdownTime, none at all half of the time, and a policy.
func (u *user) expiry() (time.Duration, sandboxv1beta1.ShutdownPolicy) {
	policy := sandboxv1beta1.ShutdownPolicyRetain
	if u.percent(35) {
		policy = sandboxv1beta1.ShutdownPolicyDelete
	}
	if u.percent(50) {
		return 0, policy
	}
	return u.upTo(longestExpiry), policy
}

// follow sets what the name is meant to be after the action.
func (p *plan) follow(a Action) {
	switch a.Kind {
	case Create, Recreate, Adopt:
		p.create(a)
	case Delete, Orphan:
		p.state = absent
	case Expire:
		p.state = afterExpiry(a.Policy)
	case Suspend, Resume:
		p.suspended = a.Kind == Suspend
	case Revive:
		if p.state == expired {
			p.state = living
		}
	case DeletePod:
	}
}

func (p *plan) create(a Action) {
	if p.state == doubtful && a.Kind == Create {
		return // the one that is there, if it is, goes when its time has come
	}
	p.shape, p.suspended, p.state = a.Shape, a.Shape.Suspended, living
	if a.Shape.Shutdown > 0 {
		p.state = afterExpiry(a.Shape.Policy)
	}
}

func afterExpiry(policy sandboxv1beta1.ShutdownPolicy) state {
	if policy == sandboxv1beta1.ShutdownPolicyDelete {
		return doubtful
	}
	return expired
}
