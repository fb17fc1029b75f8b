package claim

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// settledAmong reconciles one claim among so many that all have their Sandbox.
func settledAmong(t testing.TB, claims int) func() {
	t.Helper()
	objects := []client.Object{testPool(), testTemplate()}
	var one *extensionsv1beta1.SandboxClaim
	for i := range claims {
		name := fmt.Sprintf("claim-%d", i)
		one = claimWith(publishing(name), func(c *extensionsv1beta1.SandboxClaim) { c.Name, c.UID = name, types.UID("uid-"+name) })
		box := ownSandbox(1, readyAs(metav1.Condition{Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonDependenciesReady}),
			func(s *sandboxv1beta1.Sandbox) {
				s.Name, s.UID, s.Status.PodIPs = name, types.UID("uid-box-"+name), []string{"10.0.0.1"}
				s.OwnerReferences = []metav1.OwnerReference{controllerRef(one)}
			})
		one.Status = desiredStatus(seenWith(one, owning(box)), done{})
		objects = append(objects, one, box)
	}
	cluster := testkit.FilledCache(t, newScheme(t), nil, index.Add, objects)
	reconciler := newReconciler(cluster, candidates.New())
	return func() {
		if _, err := reconciler.Reconcile(context.Background(), requestFor(one)); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkReconcile is a claim that has what it wants, in a namespace of so many.
func BenchmarkReconcile(b *testing.B) { testkit.BenchmarkReconcile(b, "claims", settledAmong) }

// A5.2: what a claim costs does not grow with the claims and Sandboxes of its namespace.
func TestWhatAClaimCostsIsFlat(t *testing.T) { testkit.CostIsFlat(t, "claims", settledAmong) }
