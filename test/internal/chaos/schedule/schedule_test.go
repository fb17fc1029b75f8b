package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	length = 3 * time.Minute
	least  = time.Second
	most   = 10 * time.Second
)

func names(count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("box-%d", i))
	}
	return all
}

func kills(seed uint64, count int) []Kill {
	drawn := NewKills(seed, 0, 2, least, most)
	var all []Kill
	for range count {
		all = append(all, drawn.Next())
	}
	return all
}

func TestTheSeedAloneDecides(t *testing.T) {
	first := Actions(7, 0, names(30), length)
	if diff := cmp.Diff(first, Actions(7, 0, names(30), length)); diff != "" {
		t.Errorf("the same seed gives other actions (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, Actions(8, 0, names(30), length)) {
		t.Error("another seed gives the same actions")
	}
	if cmp.Equal(first, Actions(7, 1, names(30), length)) {
		t.Error("another user does the same")
	}
	if diff := cmp.Diff(kills(7, 20), kills(7, 20)); diff != "" {
		t.Errorf("the same seed gives other kills (-first +second):\n%s", diff)
	}
	if cmp.Equal(kills(7, 20), kills(8, 20)) {
		t.Error("another seed gives the same kills")
	}
}

func TestKillsAreWithinBounds(t *testing.T) {
	replicas := map[int]int{}
	for _, kill := range kills(1, 1000) {
		if kill.After < least || kill.After > most {
			t.Errorf("a kill after %s, want %s to %s", kill.After, least, most)
		}
		replicas[kill.Replica]++
	}
	if len(replicas) != 2 || replicas[0] < 400 || replicas[1] < 400 {
		t.Errorf("kills by replica: %v, want about as many of 0 and 1", replicas)
	}
}

func TestAllIsDoneToAllInTime(t *testing.T) {
	seen, kinds := map[string]bool{}, map[Kind]int{}
	var latest time.Duration
	for _, action := range Actions(1, 0, names(30), length) {
		if action.At < latest || action.At >= length {
			t.Errorf("%s at %s: want them in order, before %s", action, action.At, length)
		}
		latest = action.At
		if !seen[action.Name] && action.Kind != Create {
			t.Errorf("the first thing done to %s is %s", action.Name, action)
		}
		seen[action.Name] = true
		kinds[action.Kind]++
	}
	if len(seen) != 30 {
		t.Errorf("%d names, want 30", len(seen))
	}
	for _, kind := range Kinds() {
		if kinds[kind] == 0 {
			t.Errorf("nobody does %q", kind)
		}
	}
}
