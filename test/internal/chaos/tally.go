package chaos

import (
	"maps"
	"sync"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
)

// tally counts what is done. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex
	counts
}

// counts are the numbers of a tally.
type counts struct {
	actions map[schedule.Kind]int
	// missed are actions that met nothing: a Pod that was not there, a Sandbox that had expired and gone.
	missed int
	// refused are writes of users that others' writes made fail, and that were tried again.
	refused int
	// kills are controllers killed, ends those that ended by themselves because they could not renew the Lease.
	kills, ends int
}

func newTally() *tally {
	return &tally{counts: counts{actions: map[schedule.Kind]int{}}}
}

// change lets update the counts.
func (t *tally) change(update func(*counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	update(&t.counts)
}

// now returns the counts as they are.
func (t *tally) now() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := t.counts
	copied.actions = maps.Clone(t.actions)
	return copied
}

// total is the number of all actions.
func (c counts) total() int {
	sum := 0
	for _, n := range c.actions {
		sum += n
	}
	return sum
}
