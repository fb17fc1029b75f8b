package claim

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
)

// A status that nobody answered for may stand all the same, and what it was decided on may have moved since: when its event comes,
// it wakes one more pass.
func TestAStatusWithoutAnAnswerWakesTheClaimWhenItComes(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   bool
	}{
		"answered":     {nil, false},
		"not answered": {errors.New("no answer"), true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := claimWith()
			cluster := newCluster(t, interceptor.Funcs{
				SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
					return tc.answer
				},
			}, claim)
			r := newReconciler(cluster, candidates.New())
			wanted := extensionsv1beta1.SandboxClaimStatus{Sandbox: extensionsv1beta1.ClaimedSandbox{Name: "box-1"}}
			if err := r.publish(t.Context(), seenWith(claim), wanted, []byte(`[]`)); (err != nil) != tc.want {
				t.Fatal(err)
			}
			written := claim.DeepCopy()
			written.Status = wanted
			if got := r.ClaimChanged(event.UpdateEvent{ObjectOld: claim, ObjectNew: written}); got != tc.want {
				t.Errorf("the event wakes the claim: %v, want %v", got, tc.want)
			}
		})
	}
}

// settled says when a commit is known to have won.
type settled struct {
	Members
	written chan struct{}
}

func (s settled) Written(uid types.UID, version string) {
	s.Members.Written(uid, version)
	close(s.written)
}

// The claim's annotation may take long. Until the commit is noted, another pass that met the same member could give it back.
func TestACommitIsNotedBeforeTheAnnotationIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := settled{candidates.New(), make(chan struct{})}
		box := memberNamed("a")
		box.ResourceVersion = "1"
		members.Members.(*candidates.Candidates).ObserveSandbox(box)
		noted := false
		patch := func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if _, annotates := obj.(*extensionsv1beta1.SandboxClaim); annotates {
				synctest.Wait()
				select {
				case <-members.written:
					noted = true
				default:
				}
			}
			return c.Patch(ctx, obj, p, o...)
		}
		claim := claimWith()
		r := newReconciler(newCluster(t, interceptor.Funcs{Patch: patch}, memberNamed("a"), claim), members)
		r.observability = true
		d := done{claimVersion: claim.ResourceVersion}
		r.take(t.Context(), seenWith(claim), taking{pool: "uid-pool", namespace: "ns"}, &d)
		if d.sandbox == nil || !noted {
			t.Errorf("took %v, noted %v, errors %v", d.sandbox, noted, d.errors)
		}
	})
}
