package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/stats"
)

// Metrics by which rounds are compared.
const (
	rate       = "rate"
	latencyP50 = "latency p50"
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
	*scene
	side  side
	label string // for progress, "round 1 of 3, floor"
	names []string
	meter *meter
	// crowd is how many Sandboxes were made for others to be among.
	crowd int
	// rests is what the controllers were like at rest, the last reading behind the others.
	rests []atRest
	// found is what earlier phases have shown.
	found map[string][]report.Measurement
}

// sample is what was seen of one object in one phase.
type sample struct {
	latency time.Duration // from the first call's start to the goal
	podMade time.Duration // from the first call's start to the Pod's first sight; 0 without one
	lag     time.Duration // from the Pod's readiness to the goal; 0 without one
}

// begin gets a phase's objects their names, and does what comes before it.
func (r *round) begin(ctx context.Context, p phase) ([]report.Measurement, error) {
	r.names = objectNames(cmp.Or(p.objects, "sandbox"), r.load.count)
	if p.before == nil {
		return nil, nil
	}
	return p.before(ctx, r)
}

// measure runs one phase. It returns what was measured, and what is wrong with the counts.
func (r *round) measure(ctx context.Context, p phase) ([]report.Measurement, []error, error) {
	r.tracker.beginPhase()
	if err := r.meter.begin(ctx); err != nil {
		return nil, nil, err
	}
	began := time.Now()
	samples, err := r.drive(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	took := time.Since(began)
	if err := r.settle(ctx); err != nil {
		return nil, nil, err
	}
	costs, err := r.meter.end(ctx, len(r.names))
	if err != nil {
		return nil, nil, err
	}
	all := slices.Concat(r.times(p, samples, took), p.figures(r, samples), costs.used)
	all = append(all, growth(all, r.found[p.than])...)
	r.progress.say("%s: %s of %d in %s", r.label, p.name, len(r.names), took.Round(time.Millisecond))
	return all, r.check(p, costs), nil
}

// drive takes every object through the phase. As many as may be are under way at a time: the next one's turn comes when
// one has reached its goal, or when it is time for it.
func (r *round) drive(ctx context.Context, p phase) ([]sample, error) {
	r.wanted = len(r.names)
	s := r.side.step(p)
	if s.of != "" {
		return r.driveAtOnce(ctx, s)
	}
	samples := make([]sample, len(r.names))
	progress := r.progress.count(r.label+": "+p.name, len(r.names))
	group, ctx := errgroup.WithContext(ctx)
	if r.load.every == 0 {
		group.SetLimit(r.load.parallel)
	}
	pace := newPace(r.load.every)
	for i, name := range r.names {
		if err := pace.wait(ctx); err != nil {
			return samples, errors.Join(group.Wait(), err)
		}
		group.Go(func() error {
			made, err := r.one(ctx, name, s)
			samples[i] = made
			progress.one()
			return err
		})
	}
	return samples, group.Wait()
}

// driveAtOnce takes one step that makes all objects, members of a pool.
func (r *round) driveAtOnce(ctx context.Context, s step) ([]sample, error) {
	began := time.Now()
	if _, err := r.one(ctx, s.of, s); err != nil {
		return nil, err
	}
	var samples []sample
	r.tracker.look(s.of, func(v view) {
		for _, at := range v.membersReady {
			samples = append(samples, sample{latency: at.Sub(began)})
		}
	})
	return samples, nil
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
func (r *round) settle(ctx context.Context) error { return r.settleWithin(ctx, patience) }

func (r *round) settleWithin(ctx context.Context, patience time.Duration) error {
	return settle(ctx, quiet, patience, func() (int64, error) {
		size, err := r.meter.size()
		return size + r.tracker.activity(), err
	})
}

// check judges what is exact: the goal still stands, and the counts are as they must be.
func (r *round) check(p phase, c costs) []error {
	var all []error
	s := r.side.step(p)
	of := r.names
	if s.of != "" {
		of = []string{s.of}
	}
	for _, name := range of {
		r.tracker.look(name, func(v view) {
			if !s.reached(v) {
				all = append(all, fmt.Errorf("%q has lost what it had reached, %s", name, s.want))
			}
		})
	}
	all = append(all, p.judge(r, p, c)...)
	for i, err := range all {
		all[i] = fmt.Errorf("%s, %s: %w", r.label, p.name, err)
	}
	return all
}

func latencyOf(s sample) time.Duration { return s.latency }

func millisOf(samples []sample, of func(sample) time.Duration) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = float64(of(s).Microseconds()) / float64(time.Millisecond/time.Microsecond)
	}
	return values
}

func (r *round) times(p phase, samples []sample, took time.Duration) []report.Measurement {
	all := []report.Measurement{measured(rate, report.PerSecond, report.Median, float64(len(samples))/took.Seconds())}
	add := func(name string, of func(sample) time.Duration, quantiles ...int) {
		values := millisOf(samples, of)
		for _, q := range quantiles {
			const percent = 100
			value := stats.Quantile(values, float64(q)/percent)
			all = append(all, measured(fmt.Sprintf("%s p%d", name, q), report.Millis, report.Median, value))
		}
	}
	const p50, p90, p99 = 50, 90, 99
	add("latency", latencyOf, p50, p90, p99)
	if p.pods > 0 {
		add("until the Pod exists", func(s sample) time.Duration { return s.podMade }, p50)
	}
	if p.pods > 0 && r.side == oursSide {
		add("from ready Pod to Ready", func(s sample) time.Duration { return s.lag }, p50, p99)
	}
	return all
}
