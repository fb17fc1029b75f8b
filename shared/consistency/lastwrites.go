package consistency

import "sync"

// LastWrites remember, per owner, the object that this process wrote last on its behalf. Before the owner's objects are
// counted, that one is read in a way that shows the write. What they know may be lost at any instant, with the process: the
// next one reads everything anew. They are safe for concurrent use.
type LastWrites[Owner, Object comparable] struct {
	mu      sync.Mutex
	written map[Owner]Write[Object]
}

// Write is what is known of a write.
type Write[Object comparable] struct {
	Object Object
	// Unanswered says that nobody knows whether it took effect: only the API server can tell.
	Unanswered bool
}

// NewLastWrites returns LastWrites of nobody.
func NewLastWrites[Owner, Object comparable]() *LastWrites[Owner, Object] {
	return &LastWrites[Owner, Object]{written: map[Owner]Write[Object]{}}
}

// Record tells of a write.
func (l *LastWrites[Owner, Object]) Record(owner Owner, write Write[Object]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[owner] = write
}

// Of returns the last write for an owner; false when there is none that matters.
func (l *LastWrites[Owner, Object]) Of(owner Owner) (Write[Object], bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	write, ok := l.written[owner]
	return write, ok
}

// Forget drops the write for an owner: it has been seen, or the owner is gone.
func (l *LastWrites[Owner, Object]) Forget(owner Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, owner)
}

// Len returns how many owners have one.
func (l *LastWrites[Owner, Object]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.written)
}
