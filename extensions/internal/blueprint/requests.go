package blueprint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Refusal is why a template does not grant what a claim asks for. It stands until one of them changes.
type Refusal struct {
	// Reason is that of the claim's condition Ready.
	Reason string
	// Message names the field, the value and the way out.
	Message string
}

// Grant returns the template with what the claim asks for in its place: environment variables and disks.
func Grant(template *extensionsv1beta1.SandboxTemplate, claim *extensionsv1beta1.SandboxClaim) (*extensionsv1beta1.SandboxTemplate, *Refusal) {
	granted := template.DeepCopy()
	for i, variable := range claim.Spec.Env {
		if refused := grantVariable(granted, variable); refused != "" {
			return nil, &Refusal{extensionsv1beta1.ReasonEnvVarsInjectionRejected, fmt.Sprintf("spec.env[%d] %q: %s", i, variable.Name, refused)}
		}
	}
	for i, disk := range claim.Spec.VolumeClaimTemplates {
		if refused := grantDisk(granted, claim.Spec.VolumeClaimTemplates[:i], disk); refused != "" {
			return nil, &Refusal{extensionsv1beta1.ReasonVolumeClaimTemplatesError,
				fmt.Sprintf("spec.volumeClaimTemplates[%d] %q: %s", i, disk.Metadata.Name, refused)}
		}
	}
	return granted, nil
}

// grantVariable sets one variable, or says why not.
func grantVariable(template *extensionsv1beta1.SandboxTemplate, variable extensionsv1beta1.EnvVar) string {
	policy := template.Spec.EnvVarsInjectionPolicy
	if policy != extensionsv1beta1.EnvVarsAllowed && policy != extensionsv1beta1.EnvVarsOverrides {
		return fmt.Sprintf("SandboxTemplate %q has envVarsInjectionPolicy Disallowed: remove spec.env or have it changed", template.Name)
	}
	container := containerNamed(&template.Spec.PodTemplate.Spec, variable.ContainerName)
	if container == nil {
		return fmt.Sprintf("SandboxTemplate %q has no container %q", template.Name, variable.ContainerName)
	}
	at := slices.IndexFunc(container.Env, func(standing corev1.EnvVar) bool { return standing.Name == variable.Name })
	set := corev1.EnvVar{Name: variable.Name, Value: variable.Value}
	switch {
	case policy == extensionsv1beta1.EnvVarsOverrides && at >= 0:
		container.Env[at] = set
		return ""
	case at >= 0:
		return fmt.Sprintf("container %q has a variable of that name, and envVarsInjectionPolicy Allowed of SandboxTemplate %q replaces none: choose another name",
			container.Name, template.Name)
	case policy == extensionsv1beta1.EnvVarsAllowed && len(container.EnvFrom) > 0:
		return fmt.Sprintf("container %q has envFrom, whose names are not known, and envVarsInjectionPolicy Allowed of SandboxTemplate %q replaces none",
			container.Name, template.Name)
	}
	container.Env = append(container.Env, set)
	return ""
}

// containerNamed is the container of that name, init containers included; without a name, the first regular one.
func containerNamed(pod *corev1.PodSpec, name string) *corev1.Container {
	if name == "" && len(pod.Containers) > 0 {
		return &pod.Containers[0]
	}
	for _, containers := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return nil
}

// grantDisk adds one disk, or says why not. Those before it come from the same claim.
func grantDisk(template *extensionsv1beta1.SandboxTemplate, before []sandboxv1beta1.PersistentVolumeClaimTemplate, disk sandboxv1beta1.PersistentVolumeClaimTemplate) string {
	named := func(standing sandboxv1beta1.PersistentVolumeClaimTemplate) bool {
		return standing.Metadata.Name == disk.Metadata.Name
	}
	policy := template.Spec.VolumeClaimTemplatesPolicy
	switch {
	case policy != extensionsv1beta1.VolumeClaimTemplatesAllowed && policy != extensionsv1beta1.VolumeClaimTemplatesOverrides:
		return fmt.Sprintf("SandboxTemplate %q has volumeClaimTemplatesPolicy Disallowed: remove spec.volumeClaimTemplates or have it changed", template.Name)
	case disk.Metadata.Name == "":
		return "metadata.name is required"
	case slices.ContainsFunc(before, named):
		return "the claim has another of that name"
	}
	at := slices.IndexFunc(template.Spec.VolumeClaimTemplates, named)
	switch {
	case at < 0:
		template.Spec.VolumeClaimTemplates = append(template.Spec.VolumeClaimTemplates, *disk.DeepCopy())
	case policy == extensionsv1beta1.VolumeClaimTemplatesOverrides:
		template.Spec.VolumeClaimTemplates[at] = *disk.DeepCopy()
	default:
		return fmt.Sprintf("volumeClaimTemplatesPolicy Allowed of SandboxTemplate %q replaces none of its own: choose another name", template.Name)
	}
	return ""
}
