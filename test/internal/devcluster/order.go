package devcluster

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// step is a component with the names of those that have their turn before it.
type step struct {
	component component
	after     []string
}

// dependenciesFirst is the order in which components start.
func dependenciesFirst(all []component) []step {
	steps := make([]step, 0, len(all))
	for _, c := range all {
		steps = append(steps, step{component: c, after: c.after})
	}
	return steps
}

// dependantsFirst is the order in which components stop.
func dependantsFirst(all []component) []step {
	steps := make([]step, 0, len(all))
	for _, c := range all {
		var after []string
		for _, other := range all {
			if slices.Contains(other.after, c.name) {
				after = append(after, other.name)
			}
		}
		steps = append(steps, step{component: c, after: after})
	}
	return steps
}

// walk calls do for every step, at the same time where the order allows it. The
// first error ends the walk: no further step begins, and the context of those
// under way is done. A name that no step has counts as done.
func walk(ctx context.Context, steps []step, do func(context.Context, component) error) error {
	done := map[string]chan struct{}{}
	for _, s := range steps {
		done[s.component.name] = make(chan struct{})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range steps {
		group.Go(func() error {
			for _, name := range s.after {
				if err := await(ctx, done[name]); err != nil {
					return err
				}
			}
			if err := do(ctx, s.component); err != nil {
				return err
			}
			close(done[s.component.name])
			return nil
		})
	}
	return group.Wait()
}

// await returns when the channel is closed, at once where it is nil, or with
// the cause of ctx.
func await(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		return context.Cause(ctx)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
