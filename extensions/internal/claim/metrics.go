package claim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

// notTold stands for what nobody has told.
const notTold = "unknown"

// Metrics count the claims that are served, each once. Their names and labels are a contract. Nil counts nothing.
type Metrics struct {
	// startup, clientStartup and controllerStartup are how long claims took until they were Ready first: from when a webhook, a client
	// and this controller saw them.
	startup, clientStartup, controllerStartup *prometheus.HistogramVec
	created                                   *prometheus.CounterVec
	// starts are those of claims that have told nothing yet. A claim that another process saw first is left out.
	starts *telemetry.Laps[types.UID]
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		startup:           startupLatency("agent_sandbox_claim_startup_latency_ms", "when a webhook saw it"),
		clientStartup:     startupLatency("agent_sandbox_client_claim_startup_latency_ms", "when its client asked for it"),
		controllerStartup: startupLatency("agent_sandbox_claim_controller_startup_latency_ms", "when its controller saw it"),
		created: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agent_sandbox_claim_creation_total", Help: "Sandboxes that were started or taken for claims.",
		}, []string{"namespace", "sandbox_template", "launch_type", "warmpool_name", "pod_condition", "created_by"}),
		starts: telemetry.NewLaps[types.UID](),
	}
	var failures []error
	for _, collector := range []prometheus.Collector{m.startup, m.clientStartup, m.controllerStartup, m.created} {
		failures = append(failures, registry.Register(collector))
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fmt.Errorf("registering the metrics of claims: %w", err)
	}
	return m, nil
}

func startupLatency(name, from string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: fmt.Sprintf("Milliseconds until a claim is Ready for the first time, from %s.", from), Buckets: startupBuckets(),
	}, []string{"launch_type", "sandbox_template"})
}

// startupBuckets are the published ones of claims, in milliseconds, and below them those of warm claims.
func startupBuckets() []float64 {
	return []float64{
		1, 2.5, 5, 10, 25, 50, 100, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 5000, 10000, 30000, 60000, 120000, 240000,
	}
}

// watch starts the clock of a claim that has told nothing yet.
func (m *Metrics) watch(s seen) {
	if m != nil && meta.FindStatusCondition(s.claim.Status.Conditions, extensionsv1beta1.ConditionReady) == nil {
		m.starts.Start(s.claim.UID, firstObserved(s))
	}
}

// count records what a status says for the first time that was stored at that moment.
func (m *Metrics) count(s seen, d done, written extensionsv1beta1.SandboxClaimStatus, at time.Time) {
	if m == nil {
		return
	}
	sandbox := bound(s, d)
	if sandbox == nil {
		return
	}
	launch := launchType(sandbox)
	template := cmp.Or(sandbox.Annotations[sandboxv1beta1.AnnotationTemplateRef], notTold)
	ready := meta.IsStatusConditionTrue(written.Conditions, extensionsv1beta1.ConditionReady)
	if isNewlyBound(s, d, written) {
		condition := map[bool]string{true: "ready", false: "not_ready"}[ready]
		creator := cmp.Or(blueprint.CreatedBy(s.claim), notTold)
		m.created.WithLabelValues(s.claim.Namespace, template, launch, poolOf(sandbox, s.claim), condition, creator).Inc()
	}
	if !ready {
		return
	}
	took, first := m.starts.End(s.claim.UID, at)
	if !first {
		return
	}
	m.controllerStartup.WithLabelValues(launch, template).Observe(millis(took))
	for annotation, histogram := range map[string]*prometheus.HistogramVec{
		extensionsv1beta1.AnnotationWebhookObservedAt: m.startup, extensionsv1beta1.AnnotationClientRequestedAt: m.clientStartup,
	} {
		if from, told := timeOf(s.claim, annotation); told && !at.Before(from) {
			histogram.WithLabelValues(launch, template).Observe(millis(at.Sub(from)))
		}
	}
}

func launchType(sandbox *sandboxv1beta1.Sandbox) string {
	switch value := sandbox.Labels[sandboxv1beta1.LabelLaunchType]; value {
	case sandboxv1beta1.LaunchTypeWarm, sandboxv1beta1.LaunchTypeCold:
		return value
	default:
		return notTold
	}
}

// forget drops a claim that is gone.
func (m *Metrics) forget(claim types.UID) {
	if m != nil {
		m.starts.Forget(claim)
	}
}

// timeOf is the time in an annotation of a claim.
func timeOf(claim *extensionsv1beta1.SandboxClaim, annotation string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, claim.Annotations[annotation])
	return at, err == nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
