package testkit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FilledCache is a client that reads its own writes from a cache which holds the objects: the real one, with the indexes that are
// added; only what it is filled from is made here. A write through it would fail.
func FilledCache(
	t testing.TB, scheme *runtime.Scheme, options map[client.Object]cache.ByObject,
	index func(context.Context, client.FieldIndexer) error, objects []client.Object,
) client.Client {
	t.Helper()
	sources := map[string]*cachetesting.FakeControllerSource{}
	for _, obj := range objects {
		sourceOf(sources, obj).Add(obj)
	}
	nowhere := &rest.Config{Host: "http://localhost:0"}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	filled, err := cache.New(nowhere, cache.Options{
		Scheme: scheme, Mapper: mapper, ByObject: options,
		NewInformer: func(_ toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(sourceOf(sources, of), of, resync, indexers)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := index(ctx, filled); err != nil {
		cancel()
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
