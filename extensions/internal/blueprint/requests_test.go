package blueprint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// granting has an init container and two others, one of them with variables and one with variables from elsewhere.
func granting(env extensionsv1beta1.EnvVarsInjectionPolicy, disks extensionsv1beta1.VolumeClaimTemplatesPolicy) *extensionsv1beta1.SandboxTemplate {
	return template(func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.EnvVarsInjectionPolicy, t.Spec.VolumeClaimTemplatesPolicy = env, disks
		pod := &t.Spec.PodTemplate.Spec
		pod.InitContainers = []corev1.Container{{Name: "setup"}}
		pod.Containers = []corev1.Container{
			{Name: "main", Env: []corev1.EnvVar{{Name: "MODE", Value: "safe"}}},
			{Name: "side", EnvFrom: []corev1.EnvFromSource{{Prefix: "X_"}}},
		}
		t.Spec.VolumeClaimTemplates = []sandboxv1beta1.PersistentVolumeClaimTemplate{disk("data", "10Gi")}
	})
}

func disk(name, class string) sandboxv1beta1.PersistentVolumeClaimTemplate {
	return sandboxv1beta1.PersistentVolumeClaimTemplate{
		Metadata: sandboxv1beta1.EmbeddedObjectMetadata{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: class},
	}
}

func TestVariablesThatAClaimSets(t *testing.T) {
	const allowed, overrides = extensionsv1beta1.EnvVarsAllowed, extensionsv1beta1.EnvVarsOverrides
	variable := func(name, container string) extensionsv1beta1.EnvVar {
		return extensionsv1beta1.EnvVar{Name: name, Value: "set", ContainerName: container}
	}
	cases := map[string]struct {
		policy  extensionsv1beta1.EnvVarsInjectionPolicy
		set     extensionsv1beta1.EnvVar
		main    []corev1.EnvVar
		refused string
	}{
		"a new one":                    {allowed, variable("NEW", ""), []corev1.EnvVar{{Name: "MODE", Value: "safe"}, {Name: "NEW", Value: "set"}}, ""},
		"a new one by container":       {allowed, variable("NEW", "setup"), []corev1.EnvVar{{Name: "MODE", Value: "safe"}}, ""},
		"one in place of another":      {overrides, variable("MODE", "main"), []corev1.EnvVar{{Name: "MODE", Value: "set"}}, ""},
		"one over those of envFrom":    {overrides, variable("X_A", "side"), []corev1.EnvVar{{Name: "MODE", Value: "safe"}}, ""},
		"none without leave":           {"", variable("NEW", ""), nil, `spec.env[0] "NEW": SandboxTemplate "agent" has envVarsInjectionPolicy Disallowed: remove spec.env or have it changed`},
		"none in place of another":     {allowed, variable("MODE", ""), nil, `spec.env[0] "MODE": container "main" has a variable of that name, and envVarsInjectionPolicy Allowed of SandboxTemplate "agent" replaces none: choose another name`},
		"none beside envFrom (A2.11)":  {allowed, variable("NEW", "side"), nil, `spec.env[0] "NEW": container "side" has envFrom, whose names are not known, and envVarsInjectionPolicy Allowed of SandboxTemplate "agent" replaces none`},
		"none of an unknown container": {overrides, variable("NEW", "other"), nil, `spec.env[0] "NEW": SandboxTemplate "agent" has no container "other"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := &extensionsv1beta1.SandboxClaim{Spec: extensionsv1beta1.SandboxClaimSpec{Env: []extensionsv1beta1.EnvVar{tc.set}}}
			granted, refused := Grant(granting(tc.policy, ""), claim)
			if tc.refused != "" {
				if refused == nil || refused.Reason != extensionsv1beta1.ReasonEnvVarsInjectionRejected || refused.Message != tc.refused {
					t.Errorf("refused %+v", refused)
				}
				return
			}
			if refused != nil {
				t.Fatalf("refused %+v", refused)
			}
			if diff := cmp.Diff(tc.main, granted.Spec.PodTemplate.Spec.Containers[0].Env); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisksThatAClaimBrings(t *testing.T) {
	const allowed, overrides = extensionsv1beta1.VolumeClaimTemplatesAllowed, extensionsv1beta1.VolumeClaimTemplatesOverrides
	type disks = []sandboxv1beta1.PersistentVolumeClaimTemplate
	cases := map[string]struct {
		policy  extensionsv1beta1.VolumeClaimTemplatesPolicy
		brought disks
		want    disks
		refused string
	}{
		"a new one":              {allowed, disks{disk("more", "1")}, disks{disk("data", "10Gi"), disk("more", "1")}, ""},
		"one in place":           {overrides, disks{disk("new", "1"), disk("data", "2")}, disks{disk("data", "2"), disk("new", "1")}, ""},
		"none without leave":     {"", disks{disk("more", "1")}, nil, `spec.volumeClaimTemplates[0] "more": SandboxTemplate "agent" has volumeClaimTemplatesPolicy Disallowed: remove spec.volumeClaimTemplates or have it changed`},
		"none in place":          {allowed, disks{disk("data", "1")}, nil, `spec.volumeClaimTemplates[0] "data": volumeClaimTemplatesPolicy Allowed of SandboxTemplate "agent" replaces none of its own: choose another name`},
		"none of the same name":  {overrides, disks{disk("a", "1"), disk("a", "2")}, nil, `spec.volumeClaimTemplates[1] "a": the claim has another of that name`},
		"none without a name":    {allowed, disks{disk("", "1")}, nil, `spec.volumeClaimTemplates[0] "": metadata.name is required`},
		"none means none at all": {allowed, nil, disks{disk("data", "10Gi")}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := &extensionsv1beta1.SandboxClaim{Spec: extensionsv1beta1.SandboxClaimSpec{VolumeClaimTemplates: tc.brought}}
			granted, refused := Grant(granting("", tc.policy), claim)
			if tc.refused != "" {
				if refused == nil || refused.Reason != extensionsv1beta1.ReasonVolumeClaimTemplatesError || refused.Message != tc.refused {
					t.Errorf("refused %+v", refused)
				}
				return
			}
			if refused != nil {
				t.Fatalf("refused %+v", refused)
			}
			if diff := cmp.Diff(tc.want, granted.Spec.VolumeClaimTemplates); diff != "" {
				t.Errorf("disks (-want +got):\n%s", diff)
			}
		})
	}
}
