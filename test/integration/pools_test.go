package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// A4.16: a pool has one member unless it says otherwise, and may have none.
func TestWhatAPoolMayAskFor(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	type object = map[string]any
	cases := map[string]struct {
		spec, want object
		refused    string
	}{
		"nothing":          {object{}, object{"replicas": int64(1), "updateStrategy": object{"type": "OnReplenish"}}, ""},
		"none":             {object{"replicas": int64(0)}, object{"replicas": int64(0), "updateStrategy": object{"type": "OnReplenish"}}, ""},
		"an empty update":  {object{"updateStrategy": object{}}, object{"replicas": int64(1), "updateStrategy": object{"type": "OnReplenish"}}, ""},
		"fewer than none":  {object{"replicas": int64(-1)}, nil, "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"},
		"little patience":  {object{"readinessGracePeriodSeconds": int64(29)}, nil, "spec.readinessGracePeriodSeconds: Invalid value: 29"},
		"another strategy": {object{"updateStrategy": object{"type": "Rolling"}}, nil, `spec.updateStrategy.type: Unsupported value: "Rolling": supported values: "Recreate", "OnReplenish"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.spec["sandboxTemplateRef"] = object{"name": "template"}
			pool := &unstructured.Unstructured{Object: object{"spec": c.spec}}
			pool.SetGroupVersionKind(extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
			pool.SetNamespace(namespace)
			pool.SetName("pool-" + names.Hash(name))
			checkRefused(t, user.Create(t.Context(), pool), c.refused)
			if c.refused != "" {
				return
			}
			c.want["sandboxTemplateRef"] = object{"name": "template"}
			if diff := cmp.Diff(c.want, pool.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// newMarkedPool is newPool with metadata of the template's own on its Pods.
func newMarkedPool(t *testing.T, replicas int32) *extensionsv1beta1.SandboxWarmPool {
	t.Helper()
	template := fixture.Template(testkit.Namespace(t, user), "template")
	template.Spec.PodTemplate.Metadata = sandboxv1beta1.PodMetadata{
		Labels: map[string]string{"app": "agent", sandboxv1beta1.LabelWarmPool: "forged"}, Annotations: map[string]string{"example.com/note": "kept"},
	}
	fixture.Create(t, user, template)
	pool := fixture.Pool(template, "pool", replicas)
	fixture.Create(t, user, pool)
	return pool
}

// podsOf are the Pods that a pool's selector selects.
func podsOf(t *testing.T, pool *extensionsv1beta1.SandboxWarmPool, selector string) []corev1.Pod {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := user.List(t.Context(), &pods, client.InNamespace(pool.Namespace), client.MatchingLabelsSelector{Selector: parsed}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// A4.17: kubectl and the horizontal autoscaler set the size of a pool, and see it. A4.8: kubectl get tells it.
func TestAPoolIsScaledThroughItsSubresource(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	extensions, _ := startExtensions(t)
	pool := newPool(t, 1)
	fixture.Must(t, user, pool, await.Members(1))
	mustKubectl(t, "", "-n", pool.Namespace, "scale", "sandboxwarmpool", "pool", "--current-replicas=1", "--replicas=3")
	fixture.Must(t, user, pool, await.Members(3))

	table := strings.Split(mustKubectl(t, "", "-n", pool.Namespace, "get", "swp"), "\n")
	if header, row := strings.Fields(table[0]), strings.Fields(table[1]); !slices.Equal(header, []string{"NAME", "READY", "DESIRED", "AGE"}) ||
		!slices.Equal(row[:3], []string{"pool", "3", "3"}) {
		t.Errorf("kubectl get swp:\n%s", strings.Join(table, "\n"))
	}
	scale := &autoscalingv1.Scale{}
	if err := user.SubResource("scale").Get(t.Context(), pool, scale); err != nil {
		t.Fatal(err)
	}
	selector := sandboxv1beta1.LabelWarmPool + "=" + names.Hash("pool")
	if scale.Spec.Replicas != 3 || scale.Status != (autoscalingv1.ScaleStatus{Replicas: 3, Selector: selector}) {
		t.Errorf("scale %+v", scale)
	}
	// What the autoscaler averages its metrics over.
	if pods := podsOf(t, pool, scale.Status.Selector); len(pods) != 3 {
		t.Errorf("the selector selects %d Pods", len(pods))
	}
	scale.Spec.Replicas = 2
	if err := user.SubResource("scale").Update(t.Context(), pool, client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("updating the scale as the autoscaler does: %v", err)
	}
	fixture.Must(t, user, pool, await.Members(2))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	if err := user.SubResource("scale").Patch(t.Context(), pool, patch, client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("patching the scale: %v", err)
	}
	fixture.Must(t, user, pool, await.Members(0))
	mustKubectl(t, "", "-n", pool.Namespace, "scale", "swp/pool", "--replicas=1")
	fixture.Must(t, user, pool, await.Members(1))
	testkit.Eventually(t, "the metric of the pool's size", func() error {
		_, body := get(t, extensions.MetricsURL())
		of := `agent_sandbox_warmpool_size{namespace="` + pool.Namespace + `",sandbox_status="%s",sandbox_template="template",warmpool_name="pool"} %d`
		return lacks(body, fmt.Sprintf(of, "ready", 1), fmt.Sprintf(of, "pending", 0), fmt.Sprintf(of, "succeeded", 0), fmt.Sprintf(of, "failed", 0))
	})
}

// A4.9, A4.15, A4.22: what the Pod of a member carries, and what it does not any more once a claim has it.
func TestWhatThePodsOfAPoolCarry(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	pool := newMarkedPool(t, 1)
	selector := fixture.Must(t, user, pool, await.Members(1)).Status.Selector
	pods := podsOf(t, pool, selector)
	if len(pods) != 1 {
		t.Fatalf("the selector selects %d Pods", len(pods))
	}
	idle := pods[0]
	if idle.Labels["app"] != "agent" || idle.Annotations["example.com/note"] != "kept" || idle.Annotations[sandboxv1beta1.AnnotationSafeToEvict] != "true" {
		t.Errorf("labels %v, annotations %v", idle.Labels, idle.Annotations)
	}
	claim := fixture.Claim(pool, "claim")
	fixture.Create(t, user, claim)
	given := fixture.Must(t, user, claim, await.Served()).Status.Sandbox.Name
	if given != idle.Name {
		t.Fatalf("the claim was given %s, not %s", given, idle.Name)
	}
	taken := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(pool.Namespace, given)}, func(pod *corev1.Pod) string {
		if pod == nil || pod.Labels[sandboxv1beta1.LabelClaimUID] != string(claim.UID) {
			return "want the claim's label"
		}
		return ""
	})
	_, evictable := taken.Annotations[sandboxv1beta1.AnnotationSafeToEvict]
	_, pooled := taken.Labels[sandboxv1beta1.LabelWarmPool]
	if taken.UID != idle.UID || evictable || pooled || taken.Labels["app"] != "agent" || taken.Annotations["example.com/note"] != "kept" {
		t.Errorf("Pod %s instead of %s, labels %v, annotations %v", taken.UID, idle.UID, taken.Labels, taken.Annotations)
	}
}

func TestPoolsThatKeepTheirNodesAndWait(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t, "--enable-warm-pool-eviction=false", "--sandbox-warm-pool-replenish-delay=1h")
	pool := newPool(t, 2)
	selector := fixture.Must(t, user, pool, await.Members(2)).Status.Selector
	for _, pod := range podsOf(t, pool, selector) {
		if value, said := pod.Annotations[sandboxv1beta1.AnnotationSafeToEvict]; said {
			t.Errorf("Pod %s may be evicted: %q", pod.Name, value)
		}
	}
	claim := fixture.Claim(pool, "claim")
	fixture.Create(t, user, claim)
	fixture.Must(t, user, claim, await.Served())
	fixture.Must(t, user, pool, func(seen *extensionsv1beta1.SandboxWarmPool) string {
		if seen == nil || seen.Status.Replicas != 1 {
			return "want the status to tell that a member was taken"
		}
		return ""
	})
	testkit.Throughout(t, time.Second, "what was taken is not made up for", func() error {
		if pods := podsOf(t, pool, selector); len(pods) != 1 {
			return fmt.Errorf("%d Pods", len(pods))
		}
		return nil
	})
}
