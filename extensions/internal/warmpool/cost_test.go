package warmpool

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// open is a barrier that is passed.
type open struct{}

func (open) Wait(context.Context) error { return nil }

// fullAmong reconciles a full pool of ten in a namespace with so many Sandboxes of other pools.
func fullAmong(t testing.TB, others int) func() {
	t.Helper()
	pool := poolOf(10)
	var own []*sandboxv1beta1.Sandbox
	for n := range 10 {
		own = append(own, member(n))
	}
	pool.Status = desiredStatus(seenOf(pool, with(own...)), testLimits, done{})
	objects := []client.Object{pool, testTemplate()}
	for _, box := range own {
		objects = append(objects, box)
	}
	for n := range others {
		objects = append(objects, member(n, func(s *sandboxv1beta1.Sandbox) {
			s.Name, s.UID = "other-"+s.Name, "other-"+s.UID
			other := poolOf(1, func(p *extensionsv1beta1.SandboxWarmPool) { p.UID = types.UID(fmt.Sprintf("uid-pool-%d", n/10)) })
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(other, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))}
		}))
	}
	cluster := testkit.FilledCache(t, newScheme(t), nil, index.Add, objects)
	reconciler := New(Config{
		Client: cluster, Live: cluster, Recorder: events.Discard(), Clock: testclock.NewFakePassiveClock(testNow), Members: candidates.New(),
		Barrier: open{}, Unanswered: NewUnanswered(), Echoes: consistency.NewEchoes[types.UID](), Buckets: NewBuckets(0, testLimits.Batch),
		Yields: pacer.New[types.UID](), Statuses: pacer.New[types.UID](), Losses: NewLosses(time.Minute), Arrivals: NewArrivals(), Closures: NewClosures(), Limits: testLimits,
	})
	return func() {
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}
		if _, err := reconciler.Reconcile(context.Background(), request); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkReconcile is a full pool of ten, in a namespace with so many Sandboxes of other pools.
func BenchmarkReconcile(b *testing.B) { testkit.BenchmarkReconcile(b, "others", fullAmong) }

// A5.2: a pool costs what its own members cost, however many Sandboxes there are beside them.
func TestWhatAPoolCostsIsFlat(t *testing.T) { testkit.CostIsFlat(t, "Sandboxes of others", fullAmong) }
