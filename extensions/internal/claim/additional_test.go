package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

const teamLabel = "sandbox.users.io/team"

func labelling(value string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.AdditionalPodMetadata = sandboxv1beta1.PodMetadata{
			Labels: map[string]string{teamLabel: value}, Annotations: map[string]string{"example.com/why": "asked"},
		}
	}
}

// fromTemplate is a Sandbox whose Pod has labels of its template.
func fromTemplate(s *sandboxv1beta1.Sandbox) {
	s.Spec.PodTemplate.Metadata.Labels = map[string]string{"tier": "free"}
}

// What a claim adds to the Pod's metadata comes and goes with the claim's spec; what the template has stays.
func TestTheMetadataOfAClaimComesAndGoes(t *testing.T) {
	box := memberSandbox(fromTemplate)
	steps := []struct {
		claim       *extensionsv1beta1.SandboxClaim
		labels      map[string]string
		annotations map[string]string
		record      map[string]string
	}{
		{claimWith(labelling("a")), map[string]string{"tier": "free", teamLabel: "a"}, map[string]string{"example.com/why": "asked"},
			map[string]string{sandboxv1beta1.AnnotationPropagatedLabels: teamLabel, sandboxv1beta1.AnnotationPropagatedAnnotations: "example.com/why"}},
		{claimWith(labelling("b")), map[string]string{"tier": "free", teamLabel: "b"}, map[string]string{"example.com/why": "asked"},
			map[string]string{sandboxv1beta1.AnnotationPropagatedLabels: teamLabel, sandboxv1beta1.AnnotationPropagatedAnnotations: "example.com/why"}},
		{claimWith(), map[string]string{"tier": "free"}, nil, map[string]string{}},
	}
	for i, step := range steps {
		got := seenWith(step.claim).ofSandbox(box)
		if diff := cmp.Diff(step.labels, got.metadata.Labels); diff != "" {
			t.Errorf("step %d, labels (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(step.annotations, got.metadata.Annotations); diff != "" {
			t.Errorf("step %d, annotations (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(step.record, got.record()); diff != "" {
			t.Errorf("step %d, record (-want +got):\n%s", i, diff)
		}
		box.Spec.PodTemplate.Metadata, box.Annotations = got.metadata, got.record()
	}
}

// A label that the template has too is the template's: it stays when the claim names it no more.
func TestALabelOfTheTemplateIsNotTheClaims(t *testing.T) {
	box := memberSandbox(func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Metadata.Labels = map[string]string{teamLabel: "a"}
	})
	got := seenWith(claimWith(labelling("a"))).ofSandbox(box)
	if _, recorded := got.record()[sandboxv1beta1.AnnotationPropagatedLabels]; recorded || got.metadata.Labels[teamLabel] != "a" {
		t.Errorf("%+v", got)
	}
}

func TestABoundSandboxIsRelabelled(t *testing.T) {
	with := func(claim *extensionsv1beta1.SandboxClaim, box *sandboxv1beta1.Sandbox) *sandboxv1beta1.Sandbox {
		more := seenWith(claim).ofSandbox(box)
		box.Spec.PodTemplate.Metadata, box.Annotations = more.metadata, more.record()
		return box
	}
	bound := publishing("box-1")
	cases := map[string]struct {
		claim *extensionsv1beta1.SandboxClaim
		box   *sandboxv1beta1.Sandbox
		want  string // the path of the first change
	}{
		"nothing is asked for":         {claimWith(bound), ownSandbox(1, fromTemplate), ""},
		"it has what is asked for":     {claimWith(bound, labelling("a")), with(claimWith(labelling("a")), ownSandbox(1, fromTemplate)), ""},
		"it lacks what is asked for":   {claimWith(bound, labelling("a")), ownSandbox(1, fromTemplate), "/spec/podTemplate/metadata"},
		"it has what is no more asked": {claimWith(bound), with(claimWith(labelling("a")), ownSandbox(1, fromTemplate)), "/spec/podTemplate/metadata"},
		"it is on its way out":         {claimWith(bound, labelling("a")), ownSandbox(1, leaving), ""},
		"what is asked is refused":     {claimWith(bound, labelling("a b")), ownSandbox(1, fromTemplate), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := decide(seenWith(tc.claim, owning(tc.box)))
			if (p.relabel != nil) != (tc.want != "") {
				t.Fatalf("writes %+v", p.relabel)
			}
			if p.relabel == nil {
				return
			}
			if diff := cmp.Diff(apply.Test("/metadata/uid", tc.box.UID), p.relabel.patch[0]); diff != "" {
				t.Errorf("the precondition (-want +got):\n%s", diff)
			}
			if path := p.relabel.patch[3].Path; path != tc.want {
				t.Errorf("changes %s: %+v", path, p.relabel.patch)
			}
		})
	}
}

// A member is adopted with the claim's metadata in the same write, which then rests on the spec as it was seen.
func TestAMemberIsAdoptedWithTheMetadataOfTheClaim(t *testing.T) {
	member := memberSandbox(fromTemplate, func(s *sandboxv1beta1.Sandbox) { s.Generation = 1 })
	result, err := adopted(t, member, member, claimWith(labelling("a")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"tier": "free", teamLabel: "a"}, result.Spec.PodTemplate.Metadata.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if result.Annotations[sandboxv1beta1.AnnotationPropagatedLabels] != teamLabel {
		t.Errorf("annotations %v", result.Annotations)
	}
	edited := member.DeepCopy()
	edited.Generation = 2
	if _, err := adopted(t, member, edited, claimWith(labelling("a"))); err == nil {
		t.Error("the spec has changed, and was overwritten")
	}
	if _, err := adopted(t, member, edited, claimWith()); err != nil {
		t.Errorf("without metadata the spec is none of the claim's affair: %v", err)
	}
}

// A3.20: metadata that is refused stands until it is changed; a bound claim keeps its Sandbox as it is, and is told so once.
func TestMetadataThatIsRefusedIsTold(t *testing.T) {
	p := decide(seenWith(claimWith(labelling("a b"))))
	if p.refused == nil || p.refused.reason != extensionsv1beta1.ReasonInvalidMetadata || p.take != nil || p.create != nil {
		t.Errorf("decided on %+v", p)
	}
	bound := seenWith(claimWith(publishing("box-1"), labelling("a b")), owning(ownSandbox(1)))
	told := statusEvents(bound, done{}, desiredStatus(bound, done{}))
	if len(told) != 1 || told[0].Reason != extensionsv1beta1.ReasonInvalidMetadata {
		t.Errorf("told %+v", told)
	}
	bound.claim.Status = desiredStatus(bound, done{})
	if told := statusEvents(bound, done{}, desiredStatus(bound, done{})); len(told) != 0 {
		t.Errorf("told again: %+v", told)
	}
}
