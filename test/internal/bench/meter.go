package bench

import (
	"context"
	"errors"
	"math"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/usage"
)

// notReadable as a process ID stands for a process that is not of this machine.
const notReadable = 0

const mega = 1e6

// meter reads what work costs, between begin and end: the requests from the audit log, CPU and memory from /proc,
// reconciles from the controllers' metrics. What comes in the background, leases for instance, is in the CPU of both
// sides and in no count of requests, for those are of the benchmark's namespace only.
type meter struct {
	// log is nil where there is none to read.
	log *audit.Log
	// apiServer is a process, or notReadable.
	apiServer int
	// processes are the controllers that run.
	processes []process

	before reading
}

// reading is how far everything is that only grows.
type reading struct {
	apiServer usage.Process
	processes []processReading // in the order of the meter's
}

type processReading struct {
	used    usage.Process
	metrics usage.Metrics
}

// costs are what has been used between begin and end.
type costs struct {
	// counted says that requests are known.
	counted  bool
	requests audit.Counts
	// reconciles are numbers by the name of the reconciler.
	reconciles map[string]float64
	used       []report.Measurement
}

func (m *meter) begin(ctx context.Context) error {
	var err error
	if m.before, err = m.read(ctx); err != nil {
		return err
	}
	_, err = m.requests()
	return err
}

// end returns what has been used since begin, by the number of objects where it is for each.
func (m *meter) end(ctx context.Context, objects int) (costs, error) {
	c := costs{counted: m.log != nil, reconciles: map[string]float64{}}
	now, err := m.read(ctx)
	if err != nil {
		return c, err
	}
	if c.requests, err = m.requests(); err != nil {
		return c, err
	}
	each := float64(objects)
	millis := func(now, before usage.Process) float64 { return float64((now.CPU - before.CPU).Milliseconds()) / each }
	if m.apiServer != notReadable {
		c.used = append(c.used, measured("API server CPU", report.MillisEach, report.Median, millis(now.apiServer, m.before.apiServer)))
	}
	for i, p := range m.processes {
		is, was := now.processes[i], m.before.processes[i]
		c.used = append(c.used,
			measured(p.label+" CPU", report.MillisEach, report.Median, millis(is.used, was.used)),
			measured(p.label+" memory at most", report.MegabytesOf, report.Peak, float64(is.used.PeakSize)/mega))
		for _, reconciler := range p.reconcilers {
			n := is.metrics.Reconciles(reconciler) - was.metrics.Reconciles(reconciler)
			c.reconciles[reconciler] = n
			c.used = append(c.used, measured("reconciles, "+reconciler, report.Each, report.Mean, n/each))
			c.used = append(c.used, reconcileTimes(reconciler, is.metrics, was.metrics)...)
		}
	}
	if c.counted {
		c.used = append(c.used, requestMeasurements(c.requests, each)...)
	}
	return c, nil
}

// reconcileTimes says how long the reconciles took between two readings. Where there was none it says nothing.
func reconcileTimes(reconciler string, now, before usage.Metrics) []report.Measurement {
	const half, millis = 0.5, 1000
	times := now.ReconcileTimes(reconciler).Since(before.ReconcileTimes(reconciler))
	var all []report.Measurement
	for _, m := range []report.Measurement{
		measured("reconcile p50, "+reconciler, report.Millis, report.Median, times.Quantile(half)*millis),
		measured("reconcile mean, "+reconciler, report.Millis, report.Median, times.Mean()*millis),
	} {
		if !math.IsNaN(m.Value) {
			all = append(all, m)
		}
	}
	return all
}

func (m *meter) read(ctx context.Context) (reading, error) {
	var r reading
	var failures []error
	if m.apiServer != notReadable {
		used, err := usage.Of(m.apiServer)
		r.apiServer, failures = used, append(failures, err)
	}
	for _, p := range m.processes {
		is, err := p.read(ctx)
		r.processes, failures = append(r.processes, is), append(failures, err)
	}
	return r, errors.Join(failures...)
}

func (m *meter) requests() (audit.Counts, error) {
	if m.log == nil {
		return audit.Counts{}, nil
	}
	return m.log.Next()
}

// size grows with every request.
func (m *meter) size() (int64, error) {
	if m.log == nil {
		return 0, nil
	}
	return m.log.Size()
}

func measured(name, unit string, fold report.Fold, value float64) report.Measurement {
	return report.Measurement{Metric: report.Metric{Name: name, Unit: unit, Fold: fold}, Value: value}
}
