package claim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestClaimChangedLetsThroughWhatIsToBeActedOn(t *testing.T) {
	bound := extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Name: "mine", UID: "claim", Generation: 1}}
	unbound := bound
	bound.Status.Sandbox.Name = "member"
	for name, tc := range map[string]struct {
		before extensionsv1beta1.SandboxClaim
		change func(*extensionsv1beta1.SandboxClaim)
		want   bool
	}{
		"our own annotation is nothing new": {bound, func(c *extensionsv1beta1.SandboxClaim) {
			c.Annotations = map[string]string{extensionsv1beta1.AnnotationSandboxName: "member"}
		}, false},
		"a Sandbox that was published is nothing new": {unbound, func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.Name = "member" }, false},
		"a spec that was edited is":                   {bound, func(c *extensionsv1beta1.SandboxClaim) { c.Generation++ }, true},
		"another claim of the same name is":           {bound, func(c *extensionsv1beta1.SandboxClaim) { c.UID = "other" }, true},
		"a deletion is":                               {bound, func(c *extensionsv1beta1.SandboxClaim) { now := metav1.Now(); c.DeletionTimestamp = &now }, true},
		"a claim that has lost its Sandbox may have missed that its pool appeared": {bound, func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.Name = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := tc.before
			tc.change(&after)
			if got := ClaimChanged(event.UpdateEvent{ObjectOld: &tc.before, ObjectNew: &after}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
