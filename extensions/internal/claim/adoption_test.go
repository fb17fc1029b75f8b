package claim

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// adopted applies the adoption of a member, as it was read, to what the API server has.
func adopted(t *testing.T, read, live *sandboxv1beta1.Sandbox, claim *extensionsv1beta1.SandboxClaim) (*sandboxv1beta1.Sandbox, error) {
	t.Helper()
	raw, err := adoption(seenWith(claim), read, "uid-pool")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	result := &sandboxv1beta1.Sandbox{}
	if err := json.Unmarshal(after, result); err != nil {
		t.Fatal(err)
	}
	return result, nil
}

func TestAdoptionChangesTheOwnerAndItsLabelsAlone(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "keeper", UID: "uid-keeper"}
	member := memberSandbox(func(s *sandboxv1beta1.Sandbox) {
		s.OwnerReferences = append([]metav1.OwnerReference{other}, s.OwnerReferences...)
		s.Labels[extensionsv1beta1.LabelTemplateHash], s.Labels[extensionsv1beta1.LabelPodTemplateHash] = "hash", "old"
		s.Labels["theirs"] = "kept"
		s.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: "true", "theirs": "kept"} // A4.15
	})
	want := member.DeepCopy()
	want.OwnerReferences[1] = controllerRef(claimWith())
	want.Labels[sandboxv1beta1.LabelClaimUID] = "uid-claim"
	for _, gone := range []string{sandboxv1beta1.LabelWarmPool, sandboxv1beta1.LabelCreatedBy, extensionsv1beta1.LabelTemplateHash, extensionsv1beta1.LabelPodTemplateHash} {
		delete(want.Labels, gone)
	}
	delete(want.Annotations, sandboxv1beta1.AnnotationSafeToEvict)
	got, err := adopted(t, member, member, claimWith())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
}

func TestAdoptionFailsOnWhatIsNoMemberAnyMore(t *testing.T) {
	member := memberSandbox()
	cases := map[string]struct {
		live *sandboxv1beta1.Sandbox
		ok   bool
	}{
		"as it was seen":             {member, true},
		"its status was written":     {memberSandbox(readyAs(metav1.Condition{Status: metav1.ConditionTrue}), func(s *sandboxv1beta1.Sandbox) { s.ResourceVersion = "41" }), true},
		"another of that name":       {memberSandbox(func(s *sandboxv1beta1.Sandbox) { s.UID = "uid-other" }), false},
		"another claim's (A3.2)":     {memberSandbox(func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].UID = "uid-claim-2" }), false},
		"nobody's":                   {memberSandbox(func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil }), false},
		"it is being deleted (A3.8)": {memberSandbox(leaving), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := adopted(t, member, tc.live, claimWith()); (err == nil) != tc.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}
