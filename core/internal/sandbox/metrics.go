package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

// Labels of the metrics.
const (
	labelNamespace  = "namespace"
	labelTemplate   = "sandbox_template"
	labelOwner      = "owned_by"
	labelLaunchType = "launch_type"
	labelResult     = "result"
	labelReason     = "reason"
	labelPolicy     = "shutdown_policy"
)

// Values of labelResult.
const (
	resultRequested     = "requested"
	resultPodTerminated = "pod_terminated"
	resultReady         = "ready"
	resultError         = "error"
)

// lapKey is one of the things about a Sandbox that are timed.
type lapKey struct {
	sandbox types.NamespacedName
	stage   stage
}

// Metrics count what happens to Sandboxes. Their names and labels are a contract.
type Metrics struct {
	created            *prometheus.HistogramVec
	suspends, resumes  *prometheus.CounterVec
	suspended, resumed *prometheus.HistogramVec
	expired, finished  *prometheus.CounterVec
	laps               *telemetry.Laps[lapKey]
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	owned := []string{labelNamespace, labelTemplate, labelOwner}
	m := &Metrics{
		created:   latency("agent_sandbox_creation_latency_ms", "Milliseconds from the creation of a Sandbox to its first readiness.", []string{labelNamespace, labelLaunchType, labelTemplate}),
		suspends:  counter("agent_sandbox_suspend_total", "Suspensions by result: requested, pod_terminated, error.", append(owned, labelResult)),
		resumes:   counter("agent_sandbox_resume_total", "Resumes by result: requested, ready, error.", append(owned, labelResult)),
		suspended: latency("agent_sandbox_suspend_latency_ms", "Milliseconds from the request to suspend a Sandbox to the end of its Pod.", owned),
		resumed:   latency("agent_sandbox_resume_latency_ms", "Milliseconds from the request to resume a Sandbox to its readiness.", owned),
		expired:   counter("agent_sandbox_expired_total", "Sandboxes whose shutdownTime has come.", append(owned, labelPolicy)),
		finished:  counter("agent_sandbox_finished_total", "Sandboxes whose Pod has ended, by reason: PodSucceeded, PodFailed.", append(owned, labelReason)),
		laps:      telemetry.NewLaps[lapKey](),
	}
	var failures []error
	for _, collector := range []prometheus.Collector{m.created, m.suspends, m.resumes, m.suspended, m.resumed, m.expired, m.finished} {
		failures = append(failures, registry.Register(collector))
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fmt.Errorf("registering the metrics of Sandboxes: %w", err)
	}
	return m, nil
}

func counter(name, help string, labels []string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func latency(name, help string, labels []string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencyBuckets()}, labels)
}

// latencyBuckets are the published ones of Sandboxes, in milliseconds, and below them those of Sandboxes that are fast.
func latencyBuckets() []float64 {
	return []float64{1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 240000, 300000, 600000}
}

// watch starts the clock of what a Sandbox is in the middle of. A creation is told to the second: it counts from when it was first
// seen, if that was within the second.
func (m *Metrics) watch(s seen) {
	m.watchTurn(s)
	doing, since := stageOf(s.sandbox)
	start := since.Time
	switch {
	case doing == settled:
		return
	case doing == starting && s.now.Sub(start) < time.Second:
		start = s.now
	}
	m.laps.Start(lapKey{client.ObjectKeyFromObject(s.sandbox), doing}, start)
}

// watchTurn starts the clock of a suspension or a resume when the spec is first seen to ask for it: the status may tell of it together
// with its end.
func (m *Metrics) watchTurn(s seen) {
	key := client.ObjectKeyFromObject(s.sandbox)
	mode := meta.FindStatusCondition(s.sandbox.Status.Conditions, sandboxv1beta1.ConditionSuspended)
	if mode == nil || s.expired() {
		return
	}
	toldSuspended := mode.Reason != sandboxv1beta1.ReasonNotSuspended
	wanted, other := resuming, suspending
	if s.suspended() {
		wanted, other = suspending, resuming
	}
	if s.suspended() == toldSuspended {
		m.laps.Forget(lapKey{key, other})
		return
	}
	m.laps.Start(lapKey{key, wanted}, s.now)
}

// count records what a status that was just written says for the first time.
func (m *Metrics) count(s seen, written sandboxv1beta1.SandboxStatus) {
	key, owned := client.ObjectKeyFromObject(s.sandbox), ownedLabels(s.sandbox)
	with := func(label, value string) prometheus.Labels {
		labels := prometheus.Labels{label: value}
		for name, known := range owned {
			labels[name] = known
		}
		return labels
	}
	for _, reached := range milestones(s.sandbox.Status, written) {
		switch reached {
		case becameReady:
			m.countReady(s, owned, with)
		case suspendRequested:
			m.laps.Forget(lapKey{key, resuming})
			m.suspends.With(with(labelResult, resultRequested)).Inc()
		case suspendFailed:
			m.suspends.With(with(labelResult, resultError)).Inc()
		case podTerminated:
			m.suspends.With(with(labelResult, resultPodTerminated)).Inc()
			observe(m.laps, lapKey{key, suspending}, s.now, m.suspended.With(owned))
		case resumeRequested:
			m.laps.Forget(lapKey{key, suspending})
			m.resumes.With(with(labelResult, resultRequested)).Inc()
		case resumeFailed:
			if m.laps.Running(lapKey{key, resuming}) {
				m.resumes.With(with(labelResult, resultError)).Inc()
			}
		case expired:
			if s.sandbox.DeletionTimestamp == nil {
				m.expired.With(with(labelPolicy, string(s.sandbox.Spec.ShutdownPolicy))).Inc()
			}
		case finished:
			m.finished.With(with(labelReason, finishedReason(written))).Inc()
		}
	}
}

// countReady tells the first readiness from that after a resume; after a flap it is neither.
func (m *Metrics) countReady(s seen, owned prometheus.Labels, with func(label, value string) prometheus.Labels) {
	key := client.ObjectKeyFromObject(s.sandbox)
	if m.laps.Running(lapKey{key, resuming}) {
		m.resumes.With(with(labelResult, resultReady)).Inc()
		observe(m.laps, lapKey{key, resuming}, s.now, m.resumed.With(owned))
		return
	}
	observe(m.laps, lapKey{key, starting}, s.now, m.created.With(prometheus.Labels{
		labelNamespace: s.sandbox.Namespace, labelTemplate: owned[labelTemplate], labelLaunchType: launchType(s.sandbox),
	}))
}

// removed counts a Sandbox that expired under the policy Delete, unless it had expired under the other before.
func (m *Metrics) removed(sandbox *sandboxv1beta1.Sandbox) {
	if tellsExpiry(sandbox.Status) {
		return
	}
	labels := ownedLabels(sandbox)
	labels[labelPolicy] = string(sandbox.Spec.ShutdownPolicy)
	m.expired.With(labels).Inc()
}

// forget drops what is known of a Sandbox that is gone.
func (m *Metrics) forget(key types.NamespacedName) {
	for _, timed := range []stage{starting, suspending, resuming} {
		m.laps.Forget(lapKey{key, timed})
	}
}

func observe(laps *telemetry.Laps[lapKey], key lapKey, at time.Time, into prometheus.Observer) {
	if took, ok := laps.End(key, at); ok {
		into.Observe(float64(took) / float64(time.Millisecond))
	}
}

func ownedLabels(sandbox *sandboxv1beta1.Sandbox) prometheus.Labels {
	return prometheus.Labels{
		labelNamespace: sandbox.Namespace,
		labelTemplate:  templateName(sandbox),
		labelOwner:     cmp.Or(extensionOwner(sandbox), "None"),
	}
}

// templateName is "unknown" for a Sandbox that was made without one, whatever its annotations say.
func templateName(sandbox *sandboxv1beta1.Sandbox) string {
	if extensionOwner(sandbox) == "" {
		return "unknown"
	}
	return cmp.Or(sandbox.Annotations[sandboxv1beta1.AnnotationTemplateRef], "unknown")
}
