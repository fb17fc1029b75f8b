package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

func controlledBy(kind string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "extensions.agents.x-k8s.io/v1beta1", Kind: kind, Name: "owner", UID: "uid-owner", Controller: ptr.To(true),
		}}
	}
}

func TestAPodInheritsWhatItsOwnerMayGive(t *testing.T) {
	all := func(s *sandboxv1beta1.Sandbox) {
		s.Labels = map[string]string{
			sandboxv1beta1.LabelTemplateRefHash: "0a0a0a0a", sandboxv1beta1.LabelTemplateRef: "ffff",
			sandboxv1beta1.LabelWarmPool: "0b0b0b0b", sandboxv1beta1.LabelClaimUID: "uid-claim",
			sandboxv1beta1.LabelCreatedBy: "python-client", "team": "red",
		}
	}
	template := map[string]string{sandboxv1beta1.LabelTemplateRefHash: "0a0a0a0a", sandboxv1beta1.LabelTemplateRef: "ffff"}
	with := func(base map[string]string, more ...string) map[string]string {
		labels := map[string]string{sandboxv1beta1.LabelCreatedBy: "python-client"}
		for key, value := range base {
			labels[key] = value
		}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	creator := func(value string) func(*sandboxv1beta1.Sandbox) {
		return func(s *sandboxv1beta1.Sandbox) { s.Labels = map[string]string{sandboxv1beta1.LabelCreatedBy: value} }
	}
	cases := map[string]struct {
		sandbox *sandboxv1beta1.Sandbox
		want    map[string]string
	}{
		"nothing to inherit":                    {sandboxWith(), map[string]string{}},
		"labels alone prove nothing (A6.3)":     {sandboxWith(all), with(nil)},
		"a pool's member":                       {sandboxWith(all, controlledBy("SandboxWarmPool")), with(template, sandboxv1beta1.LabelWarmPool, "0b0b0b0b")},
		"a claimed one":                         {sandboxWith(all, controlledBy("SandboxClaim")), with(template, sandboxv1beta1.LabelClaimUID, "uid-claim")},
		"a kind that owns no Sandboxes":         {sandboxWith(all, controlledBy("SandboxTemplate")), with(nil)},
		"a kind of another group":               {sandboxWith(all, controlledBy("SandboxClaim"), func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].APIVersion = "example.com/v1" }), with(nil)},
		"an owner that does not control":        {sandboxWith(all, controlledBy("SandboxClaim"), func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].Controller = nil }), with(nil)},
		"a creator that nobody knows":           {sandboxWith(creator("curl")), map[string]string{sandboxv1beta1.LabelCreatedBy: "unknown"}},
		"a creator that is the controller":      {sandboxWith(creator("controller")), map[string]string{sandboxv1beta1.LabelCreatedBy: "controller"}},
		"an empty creator is none, not unknown": {sandboxWith(creator("")), map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, inheritedLabels(tc.sandbox)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

// A4.15: an idle member lets its node go, a claimed one does not, and what the podTemplate says counts more.
func TestWhichPodsMayBeEvicted(t *testing.T) {
	marked := func(s *sandboxv1beta1.Sandbox) {
		s.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: "true"}
	}
	says := func(value string) func(*sandboxv1beta1.Sandbox) {
		return func(s *sandboxv1beta1.Sandbox) {
			s.Spec.PodTemplate.Metadata.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: value}
		}
	}
	pool, claim := controlledBy(sandboxv1beta1.WarmPoolKind), controlledBy(sandboxv1beta1.ClaimKind)
	cases := map[string]struct {
		sandbox *sandboxv1beta1.Sandbox
		want    string
	}{
		"a member of a pool":                     {sandboxWith(marked, pool), "true"},
		"of a pool that keeps nodes":             {sandboxWith(pool), ""},
		"one whose podTemplate says otherwise":   {sandboxWith(marked, pool, says("false")), "false"},
		"a claimed one":                          {sandboxWith(marked, claim), ""},
		"a claimed one whose podTemplate grants": {sandboxWith(claim, says("true")), "true"},
		"one that nobody controls":               {sandboxWith(marked), ""},
		"a mark that says no": {sandboxWith(pool, func(s *sandboxv1beta1.Sandbox) {
			s.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: "false"}
		}), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.sandbox.DeepCopy()
			if got := podMetadata(tc.sandbox, nil).Annotations[sandboxv1beta1.AnnotationSafeToEvict]; got != tc.want {
				t.Errorf("annotation %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(before, tc.sandbox); diff != "" {
				t.Errorf("the Sandbox itself was changed:\n%s", diff)
			}
		})
	}
}

// A4.15: one patch of the Pod makes a claim's of a member's.
func TestAClaimTakesTheLeaveToEvictInTheSamePatch(t *testing.T) {
	member := sandboxWith(controlledBy(sandboxv1beta1.WarmPoolKind), func(s *sandboxv1beta1.Sandbox) {
		s.Labels = map[string]string{sandboxv1beta1.LabelWarmPool: "0b0b0b0b"}
		s.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: "true"}
	})
	pod := desiredPod(seenWith(member))
	pod.UID = "uid-pod"
	claimed := sandboxWith(controlledBy(sandboxv1beta1.ClaimKind), func(s *sandboxv1beta1.Sandbox) {
		s.Labels = map[string]string{sandboxv1beta1.LabelClaimUID: "uid-claim"}
	})
	want := &metadataPatch{name: "box", metadata: apply.Metadata{
		UID:    "uid-pod",
		Labels: map[string]*string{sandboxv1beta1.LabelWarmPool: nil, sandboxv1beta1.LabelClaimUID: ptr.To("uid-claim")},
		Annotations: map[string]*string{
			sandboxv1beta1.AnnotationSafeToEvict: nil, sandboxv1beta1.AnnotationPropagatedAnnotations: nil,
		},
	}}
	got := decide(seenWith(claimed, withPods(pod))).pod.patch
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metadataPatch{})); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	if again := decide(seenWith(member, withPods(pod))).pod.patch; again != nil {
		t.Errorf("an idle member is patched: %+v", again)
	}
}
