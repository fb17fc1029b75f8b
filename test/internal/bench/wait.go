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
	// slack is how long the memory of a process must not fall until it counts as at rest. Go gives memory back little by little.
	slack = 3 * time.Second
)

// poll looks until done, for patience at most. what says what was waited for.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	return pollFor(ctx, patience, what, done)
}

// pollFor looks until done, for so long at most. what says what was waited for.
func pollFor(ctx context.Context, patience time.Duration, what string, done func() (bool, error)) error {
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

// pollWhile looks until done, for as long as activity, a number that grows with everything that happens, has grown within
// patience: what is much may take long.
func pollWhile(ctx context.Context, activity func() int64, what string, done func() bool) error {
	last, since := activity(), time.Now()
	err := wait.PollUntilContextCancel(ctx, look, true, func(context.Context) (bool, error) {
		if now := activity(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > patience {
			return false, fmt.Errorf("nothing has happened for %s, in which to wait for %s", patience, what)
		}
		return done(), nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// settle returns once activity, a number that changes with everything that happens, has been the same for quiet. It waits for
// patience at most.
func settle(ctx context.Context, quiet, patience time.Duration, activity func() (int64, error)) error {
	last, since := int64(-1), time.Now()
	return pollFor(ctx, patience, "the cluster to come to rest", func() (bool, error) {
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

// pace lets one pass at a time, each when it is due, whatever became of those before it: who comes late lets the next come early.
type pace struct {
	every time.Duration
	due   time.Time
}

// newPace returns a pace that lets one pass in every so much time; 0: all pass at once.
func newPace(every time.Duration) *pace { return &pace{every: every, due: time.Now()} }

func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return ctx.Err()
	}
	p.due = p.due.Add(p.every)
	timer := time.NewTimer(time.Until(p.due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
