package sighting

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one change of one object.
type Change struct {
	// Before and After are the object; nil: it did not exist.
	Before, After client.Object
	// Version is the resourceVersion of the change. Of an end that no watch told it is the last version known before.
	Version uint64
	// Seen is when it was seen.
	Seen time.Time
	// Unseen says that a list showed it, after a watch that could not go on: what was between Before and After is not known.
	Unseen bool
}

// Object is After, or Before where the object is gone.
func (c Change) Object() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}
