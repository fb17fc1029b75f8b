package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/stats"
)

// side is one of the two that are compared.
type side string

const (
	floorSide side = "floor"
	oursSide  side = "ours"
)

func (s side) step(p phase) step {
	if s == floorSide {
		return p.floor
	}
	return p.ours
}

// round is one turn of one side.
type round struct {
	side     side
	label    string // for progress, "round 1 of 3, floor"
	names    []string
	parallel int
	clients  clients
	tracker  *tracker
	meter    *meter
	progress progress
}

// sample is what was seen of one object in one phase.
type sample struct {
	latency time.Duration // from the first call's start to the goal
	podMade time.Duration // from the first call's start to the Pod's first sight; 0 without one
	lag     time.Duration // from the Pod's readiness to the goal; 0 without one
}

// measure runs one phase.
func (r *round) measure(ctx context.Context, p phase) ([]report.Measurement, error) {
	r.tracker.beginPhase()
	if err := r.meter.begin(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	samples, err := r.drive(ctx, p)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	costs, err := r.meter.end(ctx, len(r.names))
	if err != nil {
		return nil, err
	}
	if err := r.check(p); err != nil {
		return nil, err
	}
	all := append(r.times(p, samples, took), costs...)
	r.progress.say("%s: %s of %d in %s", r.label, p.name, len(r.names), took.Round(time.Millisecond))
	return all, nil
}

// drive takes every object through the phase. As many as may be are under way at a time: the next one's turn comes when
// one has reached its goal.
func (r *round) drive(ctx context.Context, p phase) ([]sample, error) {
	samples := make([]sample, len(r.names))
	progress := r.progress.count(r.label+": "+p.name, len(r.names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.parallel)
	for i, name := range r.names {
		group.Go(func() error {
			s, err := r.one(ctx, name, r.side.step(p))
			samples[i] = s
			progress.one()
			return err
		})
	}
	return samples, group.Wait()
}

func (r *round) one(ctx context.Context, name string, s step) (sample, error) {
	reached := r.tracker.await(name, s.reached)
	began := time.Now()
	if err := s.do(ctx, name); err != nil {
		return sample{}, err
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case at := <-reached:
		return r.sample(name, began, at), nil
	case <-ctx.Done():
		return sample{}, context.Cause(ctx)
	case <-timeout.C:
		return sample{}, fmt.Errorf("waited %s in vain for %s of %q; %s", patience, s.want, name, r.describe(name))
	}
}

func (r *round) sample(name string, began, at time.Time) sample {
	s := sample{latency: at.Sub(began)}
	r.tracker.look(name, func(v view) {
		if !v.podMade.IsZero() {
			s.podMade = v.podMade.Sub(began)
		}
		if !v.podReady.IsZero() {
			s.lag = at.Sub(v.podReady)
		}
	})
	return s
}

// describe says, for an error, how a name looks.
func (r *round) describe(name string) string {
	text := ""
	r.tracker.look(name, func(v view) {
		text = fmt.Sprintf("it has %d Pods", len(v.pods))
		if v.sandbox == nil {
			text += " and there is no such Sandbox"
			return
		}
		for _, condition := range v.sandbox.Status.Conditions {
			text += fmt.Sprintf(", %s=%s (%s)", condition.Type, condition.Status, condition.Reason)
		}
	})
	return text
}

// settle waits until neither watch nor audit log has anything new, so that late writes are counted where they belong.
func (r *round) settle(ctx context.Context) error {
	return settle(ctx, func() (int64, error) {
		size, err := r.meter.size()
		return size + r.tracker.activity(), err
	})
}

// check judges what is exact: the goal still stands, each object got as many Pods as it must, and nobody but the client
// acts for the floor.
func (r *round) check(p phase) error {
	var failure error
	s := r.side.step(p)
	for _, name := range r.names {
		r.tracker.look(name, func(v view) {
			switch {
			case failure != nil:
			case !s.reached(v):
				failure = fmt.Errorf("%s, %s: %q has lost what it had reached, %s", r.label, p.name, name, s.want)
			case len(v.newPods) != p.pods:
				failure = fmt.Errorf("%s, %s: %q got %d Pods, want %d", r.label, p.name, name, len(v.newPods), p.pods)
			case r.side == floorSide && hasStatus(v.sandbox):
				failure = fmt.Errorf("%s, %s: a controller works on %q; the floor is without one", r.label, p.name, name)
			}
		})
	}
	return failure
}

func hasStatus(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox != nil && len(sandbox.Status.Conditions) > 0
}

func (r *round) times(p phase, samples []sample, took time.Duration) []report.Measurement {
	all := []report.Measurement{measured("rate", report.PerSecond, report.Median, float64(len(samples))/took.Seconds())}
	add := func(name string, of func(sample) time.Duration, quantiles ...int) {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = float64(of(s).Microseconds()) / float64(time.Millisecond/time.Microsecond)
		}
		for _, q := range quantiles {
			const percent = 100
			value := stats.Quantile(values, float64(q)/percent)
			all = append(all, measured(fmt.Sprintf("%s p%d", name, q), report.Millis, report.Median, value))
		}
	}
	const p50, p90, p99 = 50, 90, 99
	add("latency", func(s sample) time.Duration { return s.latency }, p50, p90, p99)
	if p.pods > 0 {
		add("until the Pod exists", func(s sample) time.Duration { return s.podMade }, p50)
	}
	if p.pods > 0 && r.side == oursSide {
		add("from ready Pod to Ready", func(s sample) time.Duration { return s.lag }, p50, p99)
	}
	return all
}

// clear deletes everything and waits for its end.
func (r *round) clear(ctx context.Context) error {
	if err := r.clients.deleteAll(ctx); err != nil {
		return err
	}
	if err := poll(ctx, "the end of all Sandboxes and Pods", func() (bool, error) { return r.tracker.empty(), nil }); err != nil {
		return err
	}
	return r.settle(ctx)
}
