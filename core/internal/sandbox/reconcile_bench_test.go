package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// A5.1: what a reconcile that finds nothing to do costs, in a namespace of so many Sandboxes. The cache is the real one, with its
// indexes; only what it is filled from is made here.
func BenchmarkReconcile(b *testing.B) {
	for _, sandboxes := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("sandboxes=%d", sandboxes), func(b *testing.B) {
			reconciler := New(testConfig(b, filledCache(b, sandboxes)))
			request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "box-50"}}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, err := reconciler.Reconcile(context.Background(), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestReconcileCostIsFlat holds the allocations, which do not depend on the machine.
func TestReconcileCostIsFlat(t *testing.T) {
	allocations := func(sandboxes int) float64 {
		reconciler := New(testConfig(t, filledCache(t, sandboxes)))
		request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "box-50"}}
		return testing.AllocsPerRun(200, func() {
			if _, err := reconciler.Reconcile(context.Background(), request); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(100), allocations(10_000)
	t.Logf("allocations: %.0f among 100 Sandboxes, %.0f among 10,000", few, many)
	if many > few*1.05 {
		t.Errorf("a reconcile allocates %.0f times among 10,000 Sandboxes, %.0f among 100", many, few)
	}
}

// filledCache is a client of a cache with so many Sandboxes, all as they should be. A write through it would fail.
func filledCache(t testing.TB, sandboxes int) client.Client {
	t.Helper()
	sources := map[string]*cachetesting.FakeControllerSource{}
	for i := range sandboxes {
		box, pod := settledSandbox(t, fmt.Sprintf("box-%d", i))
		sourceOf(sources, box).Add(box)
		sourceOf(sources, pod).Add(pod)
	}
	scheme := testScheme(t)
	nowhere := &rest.Config{Host: "http://localhost:0"}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	filled, err := cache.New(nowhere, cache.Options{
		Scheme: scheme, Mapper: mapper, ByObject: CacheOptions(),
		NewInformer: func(_ toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(sourceOf(sources, of), of, resync, indexers)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := filled.IndexField(ctx, &corev1.Pod{}, podsByController, ownership.IndexByController(sandboxKind())); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- filled.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	readYourWrites := true
	reading, err := client.New(nowhere, client.Options{
		Scheme: scheme, Mapper: mapper, Cache: &client.CacheOptions{Reader: filled, EnableReadYourWritesConsistency: &readYourWrites},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func sourceOf(sources map[string]*cachetesting.FakeControllerSource, of runtime.Object) *cachetesting.FakeControllerSource {
	kind := fmt.Sprintf("%T", of)
	if sources[kind] == nil {
		sources[kind] = cachetesting.NewFakeControllerSource()
	}
	return sources[kind]
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
