package barrier

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func box(name, version string) *sandboxv1beta1.Sandbox {
	return &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: version}}
}

func clusterOf(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := sandboxv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// catchUp brings object a of a cache to version 5 at least: the fake counts versions from 1 on.
func catchUp(t *testing.T, cached client.Client) {
	t.Helper()
	a := box("a", "")
	if err := cached.Create(context.Background(), a); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for range 5 {
		err := errors.Join(cached.Get(context.Background(), client.ObjectKeyFromObject(a), a), cached.Update(context.Background(), a))
		if err != nil {
			t.Fatal(err)
		}
	}
}

var errClosed = errors.New("it is not passed")

func state(b *Barrier) error {
	select {
	case <-b.passed:
		return nil
	default:
		return errClosed
	}
}

// A new leader decides nothing before its caches show what its predecessor wrote last.
func TestTheBarrierIsPassedOnceTheCachesShowNoLess(t *testing.T) {
	cases := map[string]struct {
		cached, live []client.Object
		// behind says that the cache has yet to see the last write.
		behind bool
	}{
		"there is nothing":              {nil, nil, false},
		"they show the same":            {[]client.Object{box("a", "5")}, []client.Object{box("a", "5")}, false},
		"they show more":                {[]client.Object{box("a", "7"), box("b", "1")}, []client.Object{box("a", "5")}, false},
		"they show what is gone by now": {[]client.Object{box("a", "5")}, nil, false},
		"one is missing":                {nil, []client.Object{box("a", "5")}, true},
		"one is older":                  {[]client.Object{box("a", "4")}, []client.Object{box("a", "5")}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cached := clusterOf(t, tc.cached...)
			kinds := []Kind{{sandboxv1beta1.GroupVersion.WithKind("Sandbox"), func() client.Object { return &sandboxv1beta1.Sandbox{} }}}
			b := New(cached, clusterOf(t, tc.live...), "", kinds, func() bool { return true })
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- b.Start(ctx) }()
			if tc.behind {
				testkit.Throughout(t, 20*pause, "the barrier stays", func() error {
					if state(b) == nil {
						return errors.New("it is passed")
					}
					return nil
				})
				catchUp(t, cached)
			}
			testkit.Eventually(t, "the barrier is passed", func() error { return state(b) })
			cancel()
			if err := errors.Join(<-ended, b.Wait(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheBarrierWaitsForItsHandlersAndEndsWithTheProcess(t *testing.T) {
	b := New(clusterOf(t), clusterOf(t), "", nil, func() bool { return false })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := b.Start(ctx); err != nil || state(b) == nil {
		t.Errorf("started with %v, %v", err, state(b))
	}
	if err := b.Wait(ctx); err == nil {
		t.Error("waited in vain, and nothing says so")
	}
}
