package sighting

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Hold is how long a change waits for earlier ones of other kinds, of which no watch has told anything later. After an outage of etcd
// the API server takes up its own watches of the kinds one by one.
const Hold = 10 * time.Second

// order puts the changes that several watches tell into one order. It is safe for concurrent use.
type order struct {
	mu      sync.Mutex
	streams []*progress
	pending []Change
	// told is the version of the last change that was handed out, late how many changes were seen after a later one was.
	told uint64
	late int
	seen time.Time // the latest change
}

// progress is how far one watch is.
type progress struct {
	version   uint64
	connected bool
	since     time.Time // when it was connected
}

func newOrder(streams int, now time.Time) *order {
	o := &order{seen: now}
	for range streams {
		o.streams = append(o.streams, &progress{})
	}
	return o
}

// connect takes in that a watch has begun, or goes on.
func (o *order) connect(stream int, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams[stream].connected, o.streams[stream].since = true, now
}

// disconnect takes in that a watch has ended: nobody knows what it would have told.
func (o *order) disconnect(stream int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams[stream].connected = false
}

// reach takes in that a watch has told all up to a version.
func (o *order) reach(stream int, version uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams[stream].version = max(o.streams[stream].version, version)
}

// add takes in changes that a watch tells.
func (o *order) add(changes ...Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range changes {
		if c.Unseen && c.After == nil {
			c.Version = max(c.Version, o.told) // it happened at some time since then
		}
		if c.Version < o.told {
			o.late++
		}
		o.seen = c.Seen
		o.pending = append(o.pending, c)
	}
	slices.SortStableFunc(o.pending, func(a, b Change) int { return cmp.Compare(a.Version, b.Version) })
}

// take hands out the changes before which nothing can have happened that is not known yet.
func (o *order) take(now time.Time) []Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for n < len(o.pending) && o.isRipe(o.pending[n], now) {
		n++
	}
	taken := slices.Clone(o.pending[:n])
	o.pending = slices.Delete(o.pending, 0, n)
	if n > 0 {
		o.told = taken[n-1].Version
	}
	return taken
}

func (o *order) isRipe(c Change, now time.Time) bool {
	for _, s := range o.streams {
		waited := now.Sub(c.Seen) >= Hold && now.Sub(s.since) >= Hold
		if s.version < c.Version && (!s.connected || !waited) {
			return false
		}
	}
	return true
}

// latest is when a change was last seen.
func (o *order) latest() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// waiting is how many changes were not handed out yet.
func (o *order) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending)
}

// lateOnes is how many changes came after a later one was handed out.
func (o *order) lateOnes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.late
}
