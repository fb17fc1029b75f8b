package manifest

import (
	"fmt"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// container is the name of the one container.
const container = "main"

// SandboxOptions say what a Sandbox is to be.
type SandboxOptions struct {
	Namespace, Name string
	// Image of the container, and what it runs; empty is what the image has.
	Image   string
	Command []string
	// Env are NAME=VALUE.
	Env []string
	// Disks are NAME=SIZE:PATH.
	Disks []string
	// CPU and Memory are quantities, requested and not to be exceeded; empty for none.
	CPU, Memory string
	// RuntimeClass isolates it; empty for the cluster's default.
	RuntimeClass string
	// RunAsUser is the user ID of its processes; nil is what the image has.
	RunAsUser *int64
	// Service asks for a DNS name.
	Service bool
	// TTL is how long it lives; 0 is for ever.
	TTL time.Duration
}

// Sandbox is the Sandbox that is asked for, made at an instant. It has no rights in the cluster, and its processes can get none on the
// node. The error names the option that cannot be read.
func Sandbox(o SandboxOptions, now time.Time) (*sandboxv1beta1.Sandbox, error) {
	env, err := variables(o.Env)
	if err != nil {
		return nil, err
	}
	resources, err := resources(o.CPU, o.Memory)
	if err != nil {
		return nil, err
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		SecurityContext:              &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: container, Image: o.Image, Args: o.Command, Env: env, Resources: resources,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	if o.RuntimeClass != "" {
		pod.RuntimeClassName = ptr.To(o.RuntimeClass)
	}
	if o.RunAsUser != nil {
		pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsNonRoot = o.RunAsUser, ptr.To(*o.RunAsUser != 0)
		// Disks belong to the group, or a user other than root could not write to them.
		pod.SecurityContext.FSGroup = o.RunAsUser
	}
	sandbox := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	sandbox.Spec.PodTemplate.Spec = pod
	if o.Service {
		sandbox.Spec.Service = ptr.To(true)
	}
	sandbox.Spec.ShutdownTime, err = expiry(o.TTL, now)
	if err != nil {
		return nil, err
	}
	return sandbox, addDisks(sandbox, o.Disks)
}

// expiry is when something expires that lives for so long; nil for never.
func expiry(ttl time.Duration, now time.Time) (*metav1.Time, error) {
	switch {
	case ttl < 0:
		return nil, fmt.Errorf("--ttl=%s: must be 0 or above; 0 is for ever", ttl)
	case ttl == 0:
		// No time is what never has.
		return nil, nil
	}
	return &metav1.Time{Time: now.Add(ttl).UTC().Truncate(time.Second)}, nil
}

func variables(texts []string) ([]corev1.EnvVar, error) {
	var env []corev1.EnvVar
	for _, text := range texts {
		name, value, err := variable(text)
		if err != nil {
			return nil, err
		}
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return env, nil
}

func variable(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		return "", "", fmt.Errorf("--env=%q: must be NAME=VALUE", text)
	}
	if problems := validation.IsEnvVarName(name); len(problems) > 0 {
		return "", "", fmt.Errorf("--env=%q: %q cannot be the name of a variable: %s", text, name, problems[0])
	}
	return name, value, nil
}

func resources(cpu, memory string) (corev1.ResourceRequirements, error) {
	list := corev1.ResourceList{}
	for _, of := range []struct {
		name        corev1.ResourceName
		flag, value string
	}{{corev1.ResourceCPU, "cpu", cpu}, {corev1.ResourceMemory, "memory", memory}} {
		if of.value == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(of.value)
		if err != nil || quantity.Sign() <= 0 {
			return corev1.ResourceRequirements{}, fmt.Errorf("--%s=%q: must be a quantity above 0, as 500m or 1Gi", of.flag, of.value)
		}
		list[of.name] = quantity
	}
	if len(list) == 0 {
		return corev1.ResourceRequirements{}, nil
	}
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}, nil
}

// addDisks adds disks that outlive the Pod, and mounts them.
func addDisks(to *sandboxv1beta1.Sandbox, disks []string) error {
	mounts := &to.Spec.PodTemplate.Spec.Containers[0].VolumeMounts
	for _, text := range disks {
		template, mount, err := disk(text)
		if err != nil {
			return err
		}
		to.Spec.VolumeClaimTemplates = append(to.Spec.VolumeClaimTemplates, template)
		*mounts = append(*mounts, mount)
	}
	return nil
}

// disk reads NAME=SIZE:PATH.
func disk(text string) (sandboxv1beta1.PersistentVolumeClaimTemplate, corev1.VolumeMount, error) {
	var template sandboxv1beta1.PersistentVolumeClaimTemplate
	name, rest, named := strings.Cut(text, "=")
	size, at, placed := strings.Cut(rest, ":")
	if !named || !placed {
		return template, corev1.VolumeMount{}, fmt.Errorf("--disk=%q: must be NAME=SIZE:PATH, as workspace=1Gi:/workspace", text)
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return template, corev1.VolumeMount{}, fmt.Errorf("--disk=%q: %q cannot be the name of a disk: %s", text, name, problems[0])
	}
	quantity, err := resource.ParseQuantity(size)
	if err != nil || quantity.Sign() <= 0 {
		return template, corev1.VolumeMount{}, fmt.Errorf("--disk=%q: the size %q must be a quantity above 0, as 1Gi", text, size)
	}
	if !path.IsAbs(at) {
		return template, corev1.VolumeMount{}, fmt.Errorf("--disk=%q: the path %q must begin with a slash", text, at)
	}
	template.Metadata.Name = name
	template.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	template.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity}
	return template, corev1.VolumeMount{Name: name, MountPath: at}, nil
}
