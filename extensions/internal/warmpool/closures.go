package warmpool

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Closures remember, per pool, since when members stand on nodes that nobody is handed out from. What they know may be lost at
// any instant: the members that are closed off then have their grace period anew. They are safe for concurrent use.
type Closures struct {
	mu    sync.Mutex
	pools map[types.UID]map[types.UID]time.Time
}

// NewClosures returns Closures of no pool.
func NewClosures() *Closures {
	return &Closures{pools: map[types.UID]map[types.UID]time.Time{}}
}

// Since tells which members of a pool are closed off now, all of them, and returns since when each is. It is not to be changed.
func (c *Closures) Since(pool types.UID, members []types.UID, now time.Time) map[types.UID]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pools[pool]
	if len(members) == 0 {
		delete(c.pools, pool)
		return nil
	}
	since := make(map[types.UID]time.Time, len(members))
	for _, member := range members {
		since[member] = now
		if first, known := before[member]; known {
			since[member] = first
		}
	}
	c.pools[pool] = since
	return since
}

// Forget drops what is known of a pool that is gone.
func (c *Closures) Forget(pool types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pools, pool)
}

// Len returns how many pools have such members.
func (c *Closures) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pools)
}
