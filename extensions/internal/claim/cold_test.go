package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// A3.27: whoever expected a warm Sandbox reads why there is none, from the claim and from its Event.
func TestAColdStartIsExplained(t *testing.T) {
	env := func(s *seen) { s.claim.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "KEY", Value: "value"}} }
	disks := func(s *seen) {
		s.claim.Spec.VolumeClaimTemplates = make([]sandboxv1beta1.PersistentVolumeClaimTemplate, 1)
		s.claim.Spec.VolumeClaimTemplates[0].Metadata.Name = "data"
	}
	ofNone := func(s *seen) { s.pool.Spec.Replicas = ptr.To[int32](0) }
	allowed := func(s *seen) {
		s.template.Spec.EnvVarsInjectionPolicy = extensionsv1beta1.EnvVarsAllowed
		s.template.Spec.VolumeClaimTemplatesPolicy = extensionsv1beta1.VolumeClaimTemplatesAllowed
	}
	cases := map[string]struct {
		seen        seen
		reason, why string
	}{
		"variables":      {seenWith(claimWith(), allowed, env), "EnvRequested", "the claim sets env, which a Pod that runs already cannot be given"},
		"disks":          {seenWith(claimWith(), allowed, disks), "VolumesRequested", "the claim asks for volumeClaimTemplates, which a Pod that runs already cannot be given"},
		"a pool of none": {seenWith(claimWith(), ofNone), "WarmPoolSizeZero", "its SandboxWarmPool was to have 0 replicas"},
		"none to take":   {seenWith(claimWith()), "WarmPoolEmpty", "its SandboxWarmPool had no Sandbox ready to be taken"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			started := decide(tc.seen).create
			status := desiredStatus(tc.seen, done{sandbox: started})
			want := []string{
				`sandbox "claim" []`, "Ready=False SandboxNotReady: Sandbox is not ready (generation 3)",
				"ColdStart=True " + tc.reason + `: Sandbox "claim" was started for the claim: ` + tc.why + " (generation 3)",
			}
			if diff := cmp.Diff(want, statusLines(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			told := statusEvents(tc.seen, done{sandbox: started}, status)
			if len(told) != 1 || told[0].Note != `Started Sandbox "claim": `+tc.why {
				t.Errorf("Events %+v", told)
			}
		})
	}
}
