package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// patience is how long one object, or the end of all, may take.
	patience = 2 * time.Minute
	// look is the time between two looks at what offers no watch.
	look = 50 * time.Millisecond
	// quiet is how long nothing must happen until a phase counts as over. It is longer than any write of ours is held
	// back, and Events are sent within it.
	quiet = 1500 * time.Millisecond
)

// poll looks until done, for patience at most. what says what was waited for.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, func(context.Context) (bool, error) { return done() })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("waited %s in vain for %s", patience, what)
	default:
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
}

// settle returns once activity, a number that grows with everything that happens, has been the same for quiet.
func settle(ctx context.Context, activity func() (int64, error)) error {
	last, since := int64(-1), time.Now()
	return poll(ctx, "the cluster to come to rest", func() (bool, error) {
		now, err := activity()
		if err != nil {
			return false, err
		}
		if now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= quiet, nil
	})
}

// pace lets one pass at a time.
type pace struct{ ticker *time.Ticker }

// newPace returns a pace that lets one pass in every so much time; 0: all pass at once.
func newPace(every time.Duration) pace {
	if every == 0 {
		return pace{}
	}
	return pace{time.NewTicker(every)}
}

func (p pace) wait(ctx context.Context) error {
	if p.ticker == nil {
		return ctx.Err()
	}
	select {
	case <-p.ticker.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p pace) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
