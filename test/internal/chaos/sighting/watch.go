package sighting

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// takeEvery is the time between two looks for changes to hand out.
	takeEvery = 50 * time.Millisecond
)

// Watch follows objects until its context ends.
type Watch struct {
	order *order
}

// Start returns once everything that is there has been listed. Changes are handed to see one at a time, in their order.
func Start(ctx context.Context, c client.WithWatch, namespace string, see func(Change), kinds ...client.ObjectList) (*Watch, error) {
	w := &Watch{order: newOrder(len(kinds), time.Now())}
	for number, kind := range kinds {
		s := &stream{client: c, namespace: namespace, kind: kind, number: number, order: w.order, known: map[string]client.Object{}}
		if err := s.list(ctx); err != nil {
			return nil, err
		}
		go s.run(ctx)
	}
	go w.hand(ctx, see)
	return w, nil
}

// hand gives out changes until ctx ends.
func (w *Watch) hand(ctx context.Context, see func(Change)) {
	ticker := time.NewTicker(takeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			for _, c := range w.order.take(time.Now()) {
				see(c)
			}
		}
	}
}

// Latest is when a change was last seen, whether it was handed out or not.
func (w *Watch) Latest() time.Time { return w.order.latest() }

// Waiting is how many changes were seen and not handed out yet.
func (w *Watch) Waiting() int { return w.order.waiting() }

// Late is how many changes were seen after a later one had been handed out; 0 unless a watch told something after more than Hold.
func (w *Watch) Late() int { return w.order.lateOnes() }
