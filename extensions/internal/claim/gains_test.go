package claim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// toldOf is a claim of that generation 3 that has told a reason, of a generation, why it is not Ready.
func toldOf(reason string, generation int64) func(*extensionsv1beta1.SandboxClaim) {
	return told(metav1.Condition{Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: generation})
}

func TestWhomAMemberWakes(t *testing.T) {
	cases := map[string]struct {
		claim func(*extensionsv1beta1.SandboxClaim)
		want  bool
	}{
		"one that has told nothing":           {func(*extensionsv1beta1.SandboxClaim) {}, true},
		"one that failed to start cold":       {toldOf(extensionsv1beta1.ReasonReconcilerError, 3), true},
		"one whose name is taken":             {toldOf(extensionsv1beta1.ReasonAdoptionConflict, 3), true},
		"one that was refused before an edit": {toldOf(extensionsv1beta1.ReasonInvalidMetadata, 2), true},
		"one that had expired before an edit": {toldOf(extensionsv1beta1.ReasonClaimExpired, 2), true},
		"not one that is refused":             {toldOf(extensionsv1beta1.ReasonInvalidMetadata, 3), false},
		"not one that has expired":            {toldOf(extensionsv1beta1.ReasonClaimExpired, 3), false},
		"not one that needs a cold start":     {func(c *extensionsv1beta1.SandboxClaim) { c.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "a"}} }, false},
		"not one that has its Sandbox":        {publishing("box-1"), false},
		"not one of another pool":             {func(c *extensionsv1beta1.SandboxClaim) { c.Spec.WarmPoolRef.Name = "other" }, false},
		"not one that is on its way out": {func(c *extensionsv1beta1.SandboxClaim) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: testNow}, []string{"example.com/hold"}
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := claimWith(tc.claim)
			r := newReconciler(newCluster(t, interceptor.Funcs{}, claim), candidates.New())
			if woken := len(r.WokenBy(t.Context(), nil, memberNamed("a"))) == 1; woken != tc.want {
				t.Errorf("woken %v", woken)
			}
		})
	}
}

// However many members a pool gains while its claims are looked through, they are looked through once more.
func TestGainsAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		claims := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer claims.ShutDown()
		looking, looked := make(chan struct{}), 0
		gained := newReconciler(newCluster(t, interceptor.Funcs{}), candidates.New()).newGains()
		gained.wakeable = func(_ context.Context, pool types.NamespacedName) []reconcile.Request {
			looked++
			<-looking
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pool.Namespace, Name: fmt.Sprint("waiting-", looked)}}}
		}
		if err := gained.Start(ctx, claims); err != nil {
			t.Fatal(err)
		}
		handler := (*Reconciler)(nil).sandboxHandler(gained)
		for n := range 300 {
			handler.Create(ctx, event.CreateEvent{Object: memberNamed(fmt.Sprint(n))}, claims)
			synctest.Wait()
		}
		close(looking)
		synctest.Wait()
		cancel()
		synctest.Wait()
		var woken []ctrl.Request
		for claims.Len() > 0 {
			next, _ := claims.Get()
			woken = append(woken, next)
		}
		want := []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "waiting-1"}}, {NamespacedName: types.NamespacedName{Namespace: "ns", Name: "waiting-2"}}}
		if diff := cmp.Diff(want, woken); diff != "" {
			t.Errorf("woken (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkGain is what the handler of events does about a member that can be taken, and what is done beside it, while so many
// claims wait.
func BenchmarkGain(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		objects := []client.Object{testPool(), testTemplate()}
		for i := range waiting {
			objects = append(objects, claimWith(toldOf(extensionsv1beta1.ReasonReconcilerError, 3), func(c *extensionsv1beta1.SandboxClaim) {
				c.Name = fmt.Sprintf("claim-%d", i)
				c.UID = types.UID("uid-" + c.Name)
			}))
		}
		r := newReconciler(testkit.FilledCache(b, newScheme(b), nil, index.Add, objects), candidates.New())
		member := memberNamed("a")
		unready := sandboxFrom(member, func(s *sandboxv1beta1.Sandbox) { s.Status.PodIPs = nil })
		b.Run(fmt.Sprintf("handler/%d", waiting), func(b *testing.B) {
			claims := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer claims.ShutDown()
			handler := r.sandboxHandler(r.newGains())
			for b.Loop() {
				handler.Update(b.Context(), event.UpdateEvent{ObjectOld: unready, ObjectNew: member}, claims)
			}
		})
		b.Run(fmt.Sprintf("beside/%d", waiting), func(b *testing.B) {
			for b.Loop() {
				if woken := r.WokenBy(b.Context(), unready, member); len(woken) != waiting {
					b.Fatalf("%d are woken", len(woken))
				}
			}
		})
	}
}
