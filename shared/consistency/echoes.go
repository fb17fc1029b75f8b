// Package consistency tells what a controller has seen from what it has done.
package consistency

import "sync"

// Echoes remembers what a process wrote last of each object, so that the event which that write brings back wakes nobody.
// It goes by content, which is known before the write, and not by the version that the write returns: the event can be
// faster than the answer. What it knows may be lost at any instant: the event then wakes one pass that finds nothing to do.
// It is safe for concurrent use.
type Echoes[K comparable] struct {
	mu      sync.Mutex
	written map[K]string
}

// NewEchoes returns Echoes of nothing.
func NewEchoes[K comparable]() *Echoes[K] {
	return &Echoes[K]{written: map[K]string{}}
}

// Writes records, before a write, the fingerprint of what it will leave.
func (e *Echoes[K]) Writes(key K, fingerprint string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written[key] = fingerprint
}

// IsEcho reports whether what stands is what we wrote last.
func (e *Echoes[K]) IsEcho(key K, fingerprint string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.written[key] == fingerprint
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
