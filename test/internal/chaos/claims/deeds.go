package claims

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Deeds are what users and chance have done, as far as it explains what controllers do. They are safe for concurrent use.
type Deeds struct {
	mu      sync.Mutex
	deleted map[types.UID]bool
	astray  []time.Time
}

// NewDeeds returns none.
func NewDeeds() *Deeds { return &Deeds{deleted: map[types.UID]bool{}} }

// Delete takes in that a user is about to delete an object.
func (d *Deeds) Delete(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted[uid] = true
}

// Deleted says whether a user has asked for the end of an object.
func (d *Deeds) Deleted(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deleted[uid]
}

// Stray takes in that writes may be under way of which the next leader of the extensions does not know: its process ended, or lost
// the API server.
func (d *Deeds) Stray(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.astray = append(d.astray, at)
}

// Astray is how often that was so in a time.
func (d *Deeds) Astray(from, to time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for _, at := range d.astray {
		if !at.Before(from) && !at.After(to) {
			count++
		}
	}
	return count
}
