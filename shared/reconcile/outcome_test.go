package reconcile

import (
	"errors"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

func TestResult(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		outcome Outcome
		result  ctrl.Result
		err     error
		stalled string

		unreported error
	}{
		"done waits for an event":         {outcome: Done()},
		"wait comes back":                 {outcome: Wait(time.Second), result: ctrl.Result{RequeueAfter: time.Second}},
		"a wait that is over is done":     {outcome: Wait(-time.Second)},
		"stalled is no error, no retry":   {outcome: Stalled("InvalidConfiguration"), stalled: "InvalidConfiguration"},
		"an error before a date keeps it": {outcome: RetryWithin(time.Second, boom), result: ctrl.Result{RequeueAfter: time.Second}, unreported: boom},
		"an error is the queue's to pace": {outcome: Failed(boom), err: boom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := tc.outcome.Result()
			if result != tc.result || !errors.Is(err, tc.err) || tc.outcome.StalledFor() != tc.stalled || !errors.Is(tc.outcome.Unreported(), tc.unreported) {
				t.Errorf("got %+v, %v, stalled %q", result, err, tc.outcome.StalledFor())
			}
		})
	}
}
