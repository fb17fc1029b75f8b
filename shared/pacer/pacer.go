// Package pacer holds back writes that a better one is likely to follow at once.
package pacer

import (
	"sync"
	"time"
)

// Pacer remembers since when a write has been held, per object key. What it knows may be lost at any instant:
// the write is then held for one more window. It is safe for concurrent use.
type Pacer[K comparable] struct {
	mu    sync.Mutex
	since map[K]time.Time
}

// New returns a Pacer that holds nothing yet.
func New[K comparable]() *Pacer[K] {
	return &Pacer[K]{since: map[K]time.Time{}}
}

// Hold returns how much longer a write is to be held that is held for window at the most; zero when its time has come.
// The first call for a key starts its window.
func (p *Pacer[K]) Hold(key K, now time.Time, window time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	start, held := p.since[key]
	if !held {
		start = now
		p.since[key] = now
	}
	return max(start.Add(window).Sub(now), 0)
}

// Forget ends the window of a key: its write was made, became needless, or its object is gone.
func (p *Pacer[K]) Forget(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, key)
}

// Len returns how many windows are open.
func (p *Pacer[K]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.since)
}
