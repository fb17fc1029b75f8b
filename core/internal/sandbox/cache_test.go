package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A5.6: what is never read is not kept, what is read stays whole.
func TestTheCacheKeepsWhatIsRead(t *testing.T) {
	fields := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	pod := runningPod(func(p *corev1.Pod) { p.ManagedFields = fields })
	kept, err := stripPod(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	want.ManagedFields = nil
	want.Spec = corev1.PodSpec{NodeName: "node-1"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("Pod (-want +got):\n%s", diff)
	}

	box := sandboxWith(disk("data"))
	claim := desiredClaim(box.Spec.VolumeClaimTemplates[0], box)
	claim.ManagedFields = fields
	kept, err = stripClaim(claim.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: claim.Name, Namespace: claim.Namespace, Labels: claim.Labels, Annotations: claim.Annotations, OwnerReferences: claim.OwnerReferences,
	}}, kept); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}

	for name, strip := range map[string]func(any) (any, error){"stripPod": stripPod, "stripClaim": stripClaim} {
		if got, err := strip("tombstone"); got != "tombstone" || err != nil {
			t.Errorf("%s of another kind: %v, %v", name, got, err)
		}
	}
}
