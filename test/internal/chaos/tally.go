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
	// kills are controllers killed, ends those that ended by themselves because they could not renew the Lease or found no
	// control plane, by the names of their Deployments. outages are the parts of the control plane killed.
	kills, ends, outages map[string]int
}

func newTally() *tally {
	return &tally{counts: counts{
		actions: map[schedule.Kind]int{}, kills: map[string]int{}, ends: map[string]int{}, outages: map[string]int{},
	}}
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
	copied.kills, copied.ends, copied.outages = maps.Clone(t.kills), maps.Clone(t.ends), maps.Clone(t.outages)
	return copied
}

// sum adds up what was counted by something.
func sum[K comparable](all map[K]int) int {
	added := 0
	for _, n := range all {
		added += n
	}
	return added
}
