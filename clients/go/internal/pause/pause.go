// Package pause waits between two attempts, for as long as the caller still waits.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the cause of the context's end if that comes first.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
