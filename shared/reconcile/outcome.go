// Package reconcile says how a reconcile ended and what wakes the object next.
package reconcile

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Outcome is how one reconcile ended. Its zero value is Done.
type Outcome struct {
	wait    time.Duration
	stalled string
	err     error
	handled error
}

// Done : the object is as its spec says, or an event will wake it.
func Done() Outcome { return Outcome{} }

// Wait : look again after d, unless an event wakes the object earlier. Zero and less is Done.
func Wait(d time.Duration) Outcome { return Outcome{wait: max(d, 0)} }

// Stalled : nothing will be tried again until the object or what it depends on changes; reason says why.
func Stalled(reason string) Outcome { return Outcome{stalled: reason} }

// Failed : tried again with growing pauses. A nil error is Done.
func Failed(err error) Outcome { return Outcome{err: err} }

// RetryWithin : tried again after d at the latest, instead of after the queue's growing pauses, since something falls due
// then. The error is not the queue's; it is the caller's to log.
func RetryWithin(d time.Duration, err error) Outcome { return Outcome{wait: max(d, 0), handled: err} }

// Unreported returns the error of RetryWithin, which Result leaves out.
func (o Outcome) Unreported() error { return o.handled }

// StalledFor returns the reason of a stalled outcome, empty otherwise.
func (o Outcome) StalledFor() string { return o.stalled }

// Result is the outcome in controller-runtime's terms.
func (o Outcome) Result() (ctrl.Result, error) {
	return ctrl.Result{RequeueAfter: o.wait}, o.err
}
