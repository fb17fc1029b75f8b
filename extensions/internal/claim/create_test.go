package claim

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
)

func invalidBy(cause metav1.StatusCause) error {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Sandbox"}, "claim", nil)
	err.ErrStatus.Message = "wrong"
	err.ErrStatus.Details.Causes = []metav1.StatusCause{cause}
	return err
}

// What a policy refuses it may allow later; what the API server finds invalid stays so, and clients give up.
func TestWhatARefusedCreationTells(t *testing.T) {
	cases := map[string]struct {
		answer error
		want   string
	}{
		"an invalid Sandbox": {
			invalidBy(metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.podTemplate", Message: "wrong"}),
			`Ready=False InvalidConfiguration: creating Sandbox "claim": wrong (generation 3)`,
		},
		"a policy": {
			invalidBy(metav1.StatusCause{Message: "not today"}),
			`Ready=False ReconcilerError: Error seen: creating Sandbox "claim": wrong (generation 3)`,
		},
		"a lack of rights": {
			apierrors.NewForbidden(schema.GroupResource{Resource: "sandboxes"}, "claim", errors.New("no")),
			`Ready=False ReconcilerError: Error seen: creating Sandbox "claim": sandboxes "claim" is forbidden: no (generation 3)`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := claimWith()
			cluster := newCluster(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return tc.answer
			}}, claim)
			reconciler := newReconciler(cluster, candidates.New())
			s := seenWith(claim)
			var d done
			reconciler.create(t.Context(), s, memberNamed(claim.Name), &d)
			if diff := cmp.Diff([]string{`sandbox "" []`, tc.want}, statusLines(desiredStatus(s, d))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if _, pending := reconciler.lastWrites.Of(s.key()); pending {
				t.Error("a write that was refused is remembered as one that may have taken effect")
			}
		})
	}
}
