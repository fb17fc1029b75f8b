package warmpool

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Arrivals remember, per pool, when a member became Ready last: one that a claim takes at once is none that a pass sees. What they
// know may be lost at any instant: the next member that becomes Ready says the same. They are safe for concurrent use.
type Arrivals struct {
	mu    sync.Mutex
	pools map[types.UID]arrival
}

// arrival is the last of a pool, and the hash of the blueprint that it was built from.
type arrival struct {
	at   time.Time
	hash string
}

// NewArrivals returns Arrivals of no pool.
func NewArrivals() *Arrivals {
	return &Arrivals{pools: map[types.UID]arrival{}}
}

// Tell tells when a member became Ready. Only of pools that Last was asked about it is remembered: what is told late of one that
// is gone leaves nothing behind.
func (a *Arrivals) Tell(pool types.UID, hash string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, asked := a.pools[pool]; asked && at.After(last.at) {
		a.pools[pool] = arrival{at: at, hash: hash}
	}
}

// Last returns when a member became Ready last, if that one was built from the blueprint of that hash; zero otherwise.
func (a *Arrivals) Last(pool types.UID, hash string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.pools[pool]
	a.pools[pool] = last
	if last.hash != hash {
		return time.Time{}
	}
	return last.at
}

// Forget drops what is known of a pool that is gone.
func (a *Arrivals) Forget(pool types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pools, pool)
}

// Len returns how many pools were asked about.
func (a *Arrivals) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pools)
}
