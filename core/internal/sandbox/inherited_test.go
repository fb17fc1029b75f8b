package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
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
