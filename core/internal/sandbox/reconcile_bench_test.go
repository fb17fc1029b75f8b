package sandbox

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// A5.1: what a reconcile that finds nothing to do costs, in a namespace of so many Sandboxes. The cache is the real one.
func BenchmarkReconcile(b *testing.B) { testkit.BenchmarkReconcile(b, "sandboxes", settledAmong) }

func TestReconcileCostIsFlat(t *testing.T) { testkit.CostIsFlat(t, "Sandboxes", settledAmong) }

// settledAmong reconciles one Sandbox among so many that are all as they should be.
func settledAmong(t testing.TB, sandboxes int) func() {
	t.Helper()
	reconciler := New(testConfig(t, filledCache(t, sandboxes)))
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "box-50"}}
	return func() {
		if _, err := reconciler.Reconcile(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
}

// filledCache is a client of a cache with so many Sandboxes, all as they should be.
func filledCache(t testing.TB, sandboxes int) client.Client {
	t.Helper()
	var objects []client.Object
	for i := range sandboxes {
		box, pod := settledSandbox(t, fmt.Sprintf("box-%d", i))
		objects = append(objects, box, pod)
	}
	return testkit.FilledCache(t, testScheme(t), CacheOptions(), func(ctx context.Context, indexer client.FieldIndexer) error {
		return indexer.IndexField(ctx, &corev1.Pod{}, podsByController, ownership.IndexByController(sandboxKind()))
	}, objects)
}

// settledSandbox is one about which nothing is left to do, and its Pod.
func settledSandbox(t testing.TB, name string) (*sandboxv1beta1.Sandbox, *corev1.Pod) {
	t.Helper()
	box := sandboxWith(func(s *sandboxv1beta1.Sandbox) { s.Name, s.UID = name, types.UID("uid-"+name) })
	hash, err := names.Fingerprint(&box.Spec.PodTemplate.Spec)
	if err != nil {
		t.Fatal(err)
	}
	pod := runningPod()
	made := desiredPod(seen{sandbox: box, specHash: hash})
	pod.ObjectMeta = made.ObjectMeta
	pod.UID = types.UID("uid-pod-" + name)
	box.Status = desiredStatus(seenWith(box, withPods(pod), func(s *seen) { s.specHash = hash }), nil, "cluster.local")
	return box, pod
}
