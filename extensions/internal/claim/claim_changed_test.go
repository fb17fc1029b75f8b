package claim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

func fingerprint(t *testing.T, of any) string {
	t.Helper()
	found, err := names.Fingerprint(of)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestClaimChangedLetsThroughWhatIsToBeActedOn(t *testing.T) {
	bound := extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Name: "mine", UID: "claim", Generation: 1}}
	unbound := bound
	bound.Status.Sandbox.Name = "member"
	r := &Reconciler{echoes: consistency.NewEchoes[types.NamespacedName]()}
	r.echoes.Writes(client.ObjectKeyFromObject(&bound), fingerprint(t, bound.Status))
	for name, tc := range map[string]struct {
		before extensionsv1beta1.SandboxClaim
		change func(*extensionsv1beta1.SandboxClaim)
		want   bool
	}{
		"our own annotation is nothing new": {bound, func(c *extensionsv1beta1.SandboxClaim) {
			c.Annotations = map[string]string{extensionsv1beta1.AnnotationSandboxName: "member"}
		}, false},
		"a Sandbox that was published is nothing new":                              {unbound, func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.Name = "member" }, false},
		"a status that somebody else wrote is":                                     {bound, func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.PodIPs = []string{"10.0.0.1"} }, true},
		"a spec that was edited is":                                                {bound, func(c *extensionsv1beta1.SandboxClaim) { c.Generation++ }, true},
		"another claim of the same name is":                                        {bound, func(c *extensionsv1beta1.SandboxClaim) { c.UID = "other" }, true},
		"a deletion is":                                                            {bound, func(c *extensionsv1beta1.SandboxClaim) { now := metav1.Now(); c.DeletionTimestamp = &now }, true},
		"a claim that has lost its Sandbox may have missed that its pool appeared": {bound, func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.Name = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := tc.before
			tc.change(&after)
			if got := r.ClaimChanged(event.UpdateEvent{ObjectOld: &tc.before, ObjectNew: &after}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
