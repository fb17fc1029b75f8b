package testkit

import (
	"testing"
	"time"
)

const (
	// Patience is how long Eventually waits.
	Patience = 20 * time.Second
	// pause lies between two looks.
	pause = 10 * time.Millisecond
)

// Eventually looks until check returns nil, for Patience at most. what says, in the failure, what was waited for.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	EventuallyWithin(t, Patience, what, check)
}

// EventuallyWithin is Eventually with another patience.
func EventuallyWithin(t testing.TB, patience time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %s in vain: %s: %v", patience, what, err)
		}
	}
}

// Throughout looks for the whole of period and fails as soon as check does not return nil. what says what had to hold.
func Throughout(t testing.TB, period time.Duration, what string, check func() error) {
	t.Helper()
	end := time.NewTimer(period)
	defer end.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if err := check(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-tick.C:
		case <-end.C:
			return
		}
	}
}
