package warmpool

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Losses remember, per pool, how many members it has had and since when it lacks some of them again: those are made up for after
// a delay, at once for all that are lost until it is over. What they know may be lost at any instant: what is missing then is made
// at once, as in a pool that is new. They are safe for concurrent use.
type Losses struct {
	mu    sync.Mutex
	delay time.Duration
	pools map[types.UID]loss
}

// loss is what is remembered of one pool.
type loss struct {
	// reached is how many members the pool has had, of those that it wants.
	reached int
	// since is when the first of those was seen missing that are not made up for yet; zero when none is.
	since time.Time
}

// stock is what a pool has and wants.
type stock struct {
	// standing are members that nobody has deleted, pending those that may exist.
	standing, pending int
	replicas          int
}

// NewLosses returns Losses of no pool. With a delay of zero they hold nothing back and remember nothing.
func NewLosses(delay time.Duration) *Losses {
	return &Losses{delay: delay, pools: map[types.UID]loss{}}
}

// Hold returns how many of the members that a pool lacks are not to be made yet, and for how much longer.
func (l *Losses) Hold(pool types.UID, has stock, now time.Time) (int, time.Duration) {
	if l.delay == 0 {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next, held := l.pools[pool].after(has, now, l.delay)
	l.pools[pool] = next
	if held == 0 {
		return 0, 0
	}
	return held, next.since.Add(l.delay).Sub(now)
}

// Changed tells of members that a pool has made itself, and of those that it has deleted itself: they are no loss.
func (l *Losses) Changed(pool types.UID, made, deleted int) {
	if l.delay == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.pools[pool]
	known.reached = max(known.reached+made-deleted, 0)
	l.pools[pool] = known
}

// Forget drops what is known of a pool that is gone.
func (l *Losses) Forget(pool types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pools, pool)
}

// Len returns how many pools are remembered.
func (l *Losses) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pools)
}

// after is what is remembered once a pool was seen so, and how many members are held back. What a pool has never had is none of
// them: the rest of the first fill, and what it is to have beyond its former size.
func (l loss) after(has stock, now time.Time, delay time.Duration) (loss, int) {
	l.reached = min(max(l.reached, has.standing), has.replicas)
	held := max(l.reached-has.standing-has.pending, 0)
	switch {
	case held == 0:
		l.since = time.Time{}
	case l.since.IsZero():
		l.since = now
	}
	if held > 0 && !now.Before(l.since.Add(delay)) {
		// What is missing now is made now; what goes from now on waits anew.
		return loss{reached: has.standing + has.pending}, 0
	}
	return l, held
}
