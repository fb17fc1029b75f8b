package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitingGoesOnWhileSomethingHappens(t *testing.T) {
	errStopped := errors.New("stopped")
	for _, tt := range []struct {
		name string
		// busy is until when something happens, ends when what is waited for comes, and stops when the caller gives up.
		busy, ends, stops time.Duration
		want              string // in the error; empty: none
	}{
		{"it comes at once", 0, 0, time.Hour, ""},
		{"it comes late, after much has happened", 10 * time.Minute, 11 * time.Minute, time.Hour, ""},
		{"nothing happens any more", time.Minute, time.Hour, time.Hour, "nothing has happened for 2m0s, in which to wait for tea"},
		{"nobody waits any more", time.Hour, time.Hour, time.Minute, "stopped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeoutCause(t.Context(), tt.stops, errStopped)
				defer cancel()
				activity := func() int64 { return int64(min(time.Since(began), tt.busy)) }
				err := pollWhile(ctx, activity, "tea", func() bool { return time.Since(began) >= tt.ends })
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("err = %v, want %q", err, tt.want)
				}
				if took := time.Since(began); tt.want == "" && took > tt.ends+time.Second {
					t.Errorf("waited %s for what came after %s", took, tt.ends)
				}
			})
		})
	}
}
