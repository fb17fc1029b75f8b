package warmpool

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Unanswered remember, per pool, the members whose creation was asked for and not answered: they may exist, or come to exist
// late. What they know may be lost at any instant, with the process: the next one may then make as many too many, which go again.
// They are safe for concurrent use.
type Unanswered struct {
	mu    sync.Mutex
	names map[types.UID]map[string]bool
}

// NewUnanswered returns Unanswered of no pool.
func NewUnanswered() *Unanswered {
	return &Unanswered{names: map[types.UID]map[string]bool{}}
}

// Add tells that a member is asked for.
func (u *Unanswered) Add(pool types.UID, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names[pool] == nil {
		u.names[pool] = map[string]bool{}
	}
	u.names[pool][name] = true
}

// Settle tells that it is known what became of a member.
func (u *Unanswered) Settle(pool types.UID, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names[pool], name)
	if len(u.names[pool]) == 0 {
		delete(u.names, pool)
	}
}

// Of returns the names of a pool's members that nobody knows about, sorted.
func (u *Unanswered) Of(pool types.UID) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(maps.Keys(u.names[pool]))
}

// Forget drops what is known of a pool that is gone.
func (u *Unanswered) Forget(pool types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, pool)
}

// Len returns how many pools have such members.
func (u *Unanswered) Len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.names)
}
