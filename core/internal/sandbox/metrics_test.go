package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// samples are the values of all counters and gauges, and the counts of all histograms, by name and labels.
func samples(t testing.TB, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			values[family.GetName()+labelText(metric)] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// labelText leaves the namespace out, which differs with each run.
func labelText(metric *dto.Metric) string {
	text := ""
	for _, label := range metric.Label {
		if label.GetName() != labelNamespace {
			text += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
		}
	}
	return text
}

// A8.6: a Sandbox that nobody claimed is counted too. Each cycle counts once.
func TestALifeIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	running := []string{notSuspendedLine, scheduledLine, readyLine}
	w.waitFor(box, running...)

	w.setPodStatus(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	w.waitFor(box, notSuspendedLine, scheduledLine, "Ready=False DependenciesNotReady: Pod is Running but not Ready")
	w.setPodStatus(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	w.waitFor(box, running...)
	for range 2 {
		w.edit(box, suspended)
		w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
		w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
		w.waitFor(box, running...)
	}
	w.setPodStatus(failedNow())
	w.waitFor(box, notSuspendedLine, scheduledLine, "Ready=False PodFailed: Pod failed: container main OOMKilled, exit code 137",
		"Finished=True PodFailed: Pod failed: container main OOMKilled, exit code 137")
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.ShutdownTime = ptr.To(metav1.Now()) })
	w.waitForReady(box, sandboxv1beta1.ReasonSandboxExpired, "")

	const owned = " owned_by=None"
	const template = " sandbox_template=unknown"
	want := map[string]float64{
		"agent_sandbox_creation_latency_ms launch_type=unknown" + template:                                                                                        1,
		"agent_sandbox_suspend_total" + owned + " result=requested" + template:                                                                                    2,
		"agent_sandbox_suspend_total" + owned + " result=pod_terminated" + template:                                                                               2,
		"agent_sandbox_resume_total" + owned + " result=requested" + template:                                                                                     2,
		"agent_sandbox_resume_total" + owned + " result=ready" + template:                                                                                         2,
		"agent_sandbox_suspend_latency_ms" + owned + template:                                                                                                     2,
		"agent_sandbox_resume_latency_ms" + owned + template:                                                                                                      2,
		"agent_sandbox_finished_total" + owned + " reason=PodFailed" + template:                                                                                   1,
		"agent_sandbox_expired_total" + owned + template + " shutdown_policy=Retain":                                                                              1,
		"agent_sandboxes created_by=unknown expired=true launch_type=unknown operating_mode=Running owned_by=None ready_condition=False sandbox_template=unknown": 1,
	}
	testkit.Eventually(t, "the metrics", func() error {
		if diff := cmp.Diff(want, samples(t, w.metrics)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// What is told together took as long as what is told step by step.
func TestLatenciesCountFromTheEdit(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "")
	for range 2 {
		w.edit(box, suspended)
		w.waitForReady(box, sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended")
		w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
		w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "")
	}
	testkit.Eventually(t, "the latencies", func() error {
		families, err := w.metrics.Gather()
		if err != nil {
			return err
		}
		found := 0
		for _, family := range families {
			if name := family.GetName(); name != "agent_sandbox_suspend_latency_ms" && name != "agent_sandbox_resume_latency_ms" {
				continue
			}
			found++
			if took := family.Metric[0].GetHistogram(); took.GetSampleCount() != 2 || took.GetSampleSum() <= 0 {
				return fmt.Errorf("%s: %d took %v ms in all", family.GetName(), took.GetSampleCount(), took.GetSampleSum())
			}
		}
		if found != 2 {
			return fmt.Errorf("%d of them are served", found)
		}
		return nil
	})
}

// Whatever users write into labels, there are few values: each is a time series for ever.
func TestLabelValuesAreBounded(t *testing.T) {
	forged := sandboxWith(func(s *sandboxv1beta1.Sandbox) {
		s.Labels = map[string]string{sandboxv1beta1.LabelCreatedBy: "me-7f3a", sandboxv1beta1.LabelLaunchType: "hot"}
		s.Annotations = map[string]string{sandboxv1beta1.AnnotationTemplateRef: "forged-7f3a"}
	})
	want := population{namespace: "ns", ready: "Unknown", expired: "false", launchType: "unknown", template: "unknown", owner: "None", creator: "unknown", mode: "Running"}
	if diff := cmp.Diff(want, populationOf(forged), cmp.AllowUnexported(population{})); diff != "" {
		t.Errorf("population (-want +got):\n%s", diff)
	}
	claimed := sandboxWith(suspended, controlledBy(sandboxv1beta1.ClaimKind), func(s *sandboxv1beta1.Sandbox) {
		s.Labels = map[string]string{sandboxv1beta1.LabelCreatedBy: "go-client", sandboxv1beta1.LabelLaunchType: "warm"}
		s.Annotations = map[string]string{sandboxv1beta1.AnnotationTemplateRef: "python"}
		s.Status = statusOf(told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired, 0))
	})
	want = population{namespace: "ns", ready: "False", expired: "true", launchType: "warm", template: "python", owner: "SandboxClaim", creator: "go-client", mode: "Suspended"}
	if diff := cmp.Diff(want, populationOf(claimed), cmp.AllowUnexported(population{})); diff != "" {
		t.Errorf("population (-want +got):\n%s", diff)
	}
}

// A8.4: an owner of an older version of the API counts as what it is.
func TestAnOwnerOfAnOlderVersionCounts(t *testing.T) {
	cases := map[string]struct{ apiVersion, want string }{
		"this version":  {"extensions.agents.x-k8s.io/v1beta1", "SandboxClaim"},
		"an older one":  {"extensions.agents.x-k8s.io/v1alpha1", "SandboxClaim"},
		"another group": {"example.com/v1beta1", "None"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claimed := sandboxWith(controlledBy(sandboxv1beta1.ClaimKind), func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].APIVersion = tc.apiVersion })
			if got := populationOf(claimed).owner; got != tc.want {
				t.Errorf("agent_sandboxes says owned_by=%s, want %s", got, tc.want)
			}
			if got := ownedLabels(claimed)[labelOwner]; got != tc.want {
				t.Errorf("the others say owned_by=%s, want %s", got, tc.want)
			}
		})
	}
}

// listed is a cache that counts what it hands out and refuses to copy.
type listed struct {
	client.Reader
	sandboxes []sandboxv1beta1.Sandbox
	copied    bool
}

func (l *listed) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var list client.ListOptions
	list.ApplyOptions(options)
	l.copied = !ptr.Deref(list.UnsafeDisableDeepCopy, false)
	into.(*sandboxv1beta1.SandboxList).Items = l.sandboxes
	return nil
}

// A8.5.
func TestAScrapeCopiesNothing(t *testing.T) {
	reader := &listed{sandboxes: []sandboxv1beta1.Sandbox{*sandboxWith(), *sandboxWith(), *sandboxWith(suspended)}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewInventory(reader))
	got := samples(t, registry)
	const common = "agent_sandboxes created_by=unknown expired=false launch_type=unknown operating_mode="
	const rest = " owned_by=None ready_condition=Unknown sandbox_template=unknown"
	if diff := cmp.Diff(map[string]float64{common + "Running" + rest: 2, common + "Suspended" + rest: 1}, got); diff != "" {
		t.Errorf("gauges (-want +got):\n%s", diff)
	}
	if reader.copied {
		t.Error("the scrape copies every Sandbox")
	}
}

// A restart in the middle of a resume loses no count, and a flap after a restart adds none.
func TestARestartCountsAsBefore(t *testing.T) {
	up := told("Ready", metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady, 20)
	runs := told("Suspended", metav1.ConditionFalse, sandboxv1beta1.ReasonNotSuspended, 10)
	with := func(ready metav1.Condition) seen {
		return seenWith(sandboxWith(func(s *sandboxv1beta1.Sandbox) { s.Status = statusOf(runs, ready) }), func(s *seen) { s.now = testNow.Add(20 * time.Second) })
	}
	cases := map[string]struct {
		since int // of Ready=False
		want  []string
	}{
		"in the middle of a start":  {10, []string{"agent_sandbox_creation_latency_ms launch_type=unknown sandbox_template=unknown"}},
		"in the middle of a resume": {5, []string{"agent_sandbox_resume_latency_ms owned_by=None sandbox_template=unknown", "agent_sandbox_resume_total owned_by=None result=ready sandbox_template=unknown"}},
		"in the middle of a flap":   {15, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			metrics, err := NewMetrics(registry)
			if err != nil {
				t.Fatal(err)
			}
			s := with(told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady, tc.since))
			metrics.watch(s)
			metrics.count(s, statusOf(runs, up))
			metrics.count(s, statusOf(runs, up))
			want := map[string]float64{}
			for _, name := range tc.want {
				want[name] = 1
			}
			got := samples(t, registry)
			for name, n := range got {
				if n == 0 {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}
