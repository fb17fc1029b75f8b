package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/usage"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	controllerUser = "system:serviceaccount:" + install.Namespace + ":" + install.CoreController
	// notReadable as a process ID stands for a process that is not of this machine, or not there.
	notReadable = 0
)

// meter reads what work costs, between begin and end: the requests from the audit log, CPU and memory from /proc,
// reconciles from the controller's metrics. What comes in the background, leases for instance, is in the CPU of both
// sides and in no count of requests, for those are of the benchmark's namespace only.
type meter struct {
	// log is nil where there is none to read.
	log *audit.Log
	// apiServer and controller are processes, or notReadable.
	apiServer, controller int
	// metricsURL and controllerName say where reconciles are counted; empty while no controller runs.
	metricsURL, controllerName string

	before reading
}

// reading is how far everything is that only grows.
type reading struct {
	apiServer, controller usage.Process
	reconciles            float64
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
func (m *meter) end(ctx context.Context, objects int) ([]report.Measurement, error) {
	now, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	requests, err := m.requests()
	if err != nil {
		return nil, err
	}
	each := float64(objects)
	millis := func(now, before usage.Process) float64 { return float64((now.CPU - before.CPU).Milliseconds()) / each }
	var all []report.Measurement
	if m.apiServer != notReadable {
		all = append(all, measured("API server CPU", report.MillisEach, report.Median, millis(now.apiServer, m.before.apiServer)))
	}
	if m.controller != notReadable {
		const mega = 1e6
		all = append(all,
			measured("controller CPU", report.MillisEach, report.Median, millis(now.controller, m.before.controller)),
			measured("controller memory at most", report.MegabytesOf, report.Peak, float64(now.controller.PeakSize)/mega),
			measured("reconciles", report.Each, report.Mean, (now.reconciles-m.before.reconciles)/each))
	}
	if m.log != nil {
		all = append(all, requestMeasurements(requests, each)...)
	}
	return all, nil
}

func (m *meter) read(ctx context.Context) (reading, error) {
	var r reading
	var failures [3]error
	if m.apiServer != notReadable {
		r.apiServer, failures[0] = usage.Of(m.apiServer)
	}
	if m.controller != notReadable {
		r.controller, failures[1] = usage.Of(m.controller)
		r.reconciles, failures[2] = usage.Reconciles(ctx, m.metricsURL, m.controllerName)
	}
	return r, errors.Join(failures[:]...)
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

// requestMeasurements counts everybody's writes, and all that the controller sends. Refused requests count like others.
func requestMeasurements(requests audit.Counts, each float64) []report.Measurement {
	var all []report.Measurement
	add := func(name string, n int) {
		all = append(all, measured(name, report.Each, report.Mean, float64(n)/each))
	}
	addSorted := func(prefix string, sums map[string]int) {
		for _, key := range slices.Sorted(maps.Keys(sums)) {
			add(prefix+key, sums[key])
		}
	}
	add("writes of all, Events apart", requests.Sum(audit.Kind.IsWrite, noEvent))
	addSorted("writes by ", requests.By(sender, audit.Kind.IsWrite, noEvent))
	addSorted("controller: ", requests.By(verbAndResource, byController, audit.Kind.IsWrite, noEvent))
	addSorted("controller, refused: ", requests.By(refusal, byController, audit.Kind.Refused))
	if reads := requests.Sum(byController, isRead); reads > 0 {
		add("controller: reads", reads)
	}
	addSorted("Events by ", requests.By(sender, audit.Kind.IsWrite, audit.Kind.IsEvent))
	return all
}

func noEvent(k audit.Kind) bool           { return !k.IsEvent() }
func isRead(k audit.Kind) bool            { return !k.IsWrite() }
func byController(k audit.Kind) bool      { return k.User == controllerUser }
func verbAndResource(k audit.Kind) string { return k.Verb + " " + k.Resource }
func refusal(k audit.Kind) string         { return fmt.Sprintf("%s, %d", verbAndResource(k), k.Code) }

// sender says in whose place a user stands.
func sender(k audit.Kind) string {
	switch {
	case byController(k):
		return "controller"
	case k.User == "system:kube-scheduler":
		return "scheduler"
	case k.User == "devcluster:kwok", strings.HasPrefix(k.User, "system:node:"):
		return "kubelets"
	case k.User == "system:kube-controller-manager", strings.HasPrefix(k.User, "system:serviceaccount:kube-system:"):
		return "Kubernetes' own controllers"
	default:
		return "client"
	}
}
