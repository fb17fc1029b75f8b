package telemetry

import (
	"sync"
	"time"
)

// Laps time what happens once to an object, such as its start. What they know may be lost at any instant: the caller then starts
// the lap anew from what the object itself tells, or leaves it out. They are safe for concurrent use.
type Laps[K comparable] struct {
	mu   sync.Mutex
	laps map[K]lap
}

type lap struct {
	start time.Time
	ended bool
}

// NewLaps returns Laps of which none has started.
func NewLaps[K comparable]() *Laps[K] {
	return &Laps[K]{laps: map[K]lap{}}
}

// Start begins the lap of a key, unless it has begun before, ended or not.
func (l *Laps[K]) Start(key K, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.laps[key]; !known {
		l.laps[key] = lap{start: at}
	}
}

// End returns how long the lap of a key took. It is false for a lap that never began, and for one that ended before: it is
// counted once.
func (l *Laps[K]) End(key K, at time.Time) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	current, known := l.laps[key]
	if !known || current.ended {
		return 0, false
	}
	l.laps[key] = lap{start: current.start, ended: true}
	return max(at.Sub(current.start), 0), true
}

// Running reports whether the lap of a key has begun and not ended.
func (l *Laps[K]) Running(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	current, known := l.laps[key]
	return known && !current.ended
}

// Forget drops a key, so that its lap can begin again.
func (l *Laps[K]) Forget(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.laps, key)
}

// Len returns how many keys are known.
func (l *Laps[K]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.laps)
}
