package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func annotated(annotations map[string]string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) { c.Annotations = annotations }
}

// step lets the metrics see a pass that stores what the claim then tells.
func step(m *Metrics, claim *extensionsv1beta1.SandboxClaim, box *sandboxv1beta1.Sandbox, at time.Time) *extensionsv1beta1.SandboxClaim {
	s := seenWith(claim)
	d := done{}
	if claim.Status.Sandbox.Name == "" {
		d.sandbox = box
	} else {
		s.owned = []*sandboxv1beta1.Sandbox{box}
	}
	m.watch(s)
	written := desiredStatus(s, d)
	m.count(s, d, written, at)
	after := claim.DeepCopy()
	after.Status = written
	return after
}

// A8.1, A8.2, A8.3: each claim is counted once, to the fraction of a second, under the pool that it names.
func TestAClaimIsCountedOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	cold := func(s *sandboxv1beta1.Sandbox) {
		s.Labels[sandboxv1beta1.LabelLaunchType] = sandboxv1beta1.LaunchTypeCold
	}
	ready := readyAs(metav1.Condition{Status: metav1.ConditionTrue, Reason: "DependenciesReady"})
	claim := claimWith(annotated(map[string]string{
		extensionsv1beta1.AnnotationClientRequestedAt: testNow.Add(-7 * time.Millisecond).Format(time.RFC3339Nano),
		extensionsv1beta1.AnnotationWebhookObservedAt: testNow.Add(time.Hour).Format(time.RFC3339Nano),
	}))
	claim = step(m, claim, ownSandbox(1, cold), testNow)
	claim = step(m, claim, ownSandbox(1, cold, ready), testNow.Add(5*time.Millisecond))
	claim = step(m, claim, ownSandbox(1, cold), testNow.Add(time.Second))
	step(m, claim, ownSandbox(1, cold, ready), testNow.Add(2*time.Second))

	want := `# HELP agent_sandbox_claim_creation_total Sandboxes that were started or taken for claims.
# TYPE agent_sandbox_claim_creation_total counter
agent_sandbox_claim_creation_total{created_by="unknown",launch_type="cold",namespace="ns",pod_condition="not_ready",sandbox_template="agent",warmpool_name="pool"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "agent_sandbox_claim_creation_total"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]struct {
		count uint64
		sum   float64
	}{
		"agent_sandbox_claim_controller_startup_latency_ms": {1, 5},
		"agent_sandbox_client_claim_startup_latency_ms":     {1, 12},
		"agent_sandbox_claim_startup_latency_ms":            {0, 0}, // seen by a webhook whose clock is ahead
	} {
		if count, sum := histogram(t, registry, name); count != want.count || sum != want.sum {
			t.Errorf("%s has %d of %v ms in all, want %+v", name, count, sum, want)
		}
	}
	m.forget(claim.UID)
	if m.starts.Len() != 0 {
		t.Error("a claim that is gone is remembered")
	}
}

// A claim that another process has told of is not counted as one that has just begun.
func TestAClaimFromBeforeIsNotTimed(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	claim := claimWith(publishing("box-1"), told(*notReady(extensionsv1beta1.ReasonSandboxNotReady, "")))
	step(m, claim, ownSandbox(1, readyAs(metav1.Condition{Status: metav1.ConditionTrue, Reason: "DependenciesReady"})), testNow)
	if count, _ := histogram(t, registry, "agent_sandbox_claim_controller_startup_latency_ms"); count != 0 {
		t.Errorf("counted %d times", count)
	}
}

func histogram(t *testing.T, registry *prometheus.Registry, name string) (uint64, float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var count uint64
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			count += metric.GetHistogram().GetSampleCount()
			sum += metric.GetHistogram().GetSampleSum()
		}
	}
	return count, sum
}
