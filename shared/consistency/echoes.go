// Package consistency tells what a controller has seen from what it has done.
package consistency

import "sync"

// Echoes remembers the last version that a process wrote of each object, so that the event which that write brings back
// wakes nobody. What it knows may be lost at any instant: the event then wakes one pass that finds nothing to do.
// It is safe for concurrent use.
type Echoes[K comparable] struct {
	mu      sync.Mutex
	written map[K]string
}

// NewEchoes returns Echoes of nothing.
func NewEchoes[K comparable]() *Echoes[K] {
	return &Echoes[K]{written: map[K]string{}}
}

// Wrote records the resourceVersion that a write of ours returned.
func (e *Echoes[K]) Wrote(key K, resourceVersion string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written[key] = resourceVersion
}

// IsEcho reports whether that version of the object is the one that we wrote last.
func (e *Echoes[K]) IsEcho(key K, resourceVersion string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.written[key] == resourceVersion
}

// Forget drops what is known of an object that is gone.
func (e *Echoes[K]) Forget(key K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.written, key)
}

// Len returns how many objects are remembered.
func (e *Echoes[K]) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.written)
}
