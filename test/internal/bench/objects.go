package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

// namespace holds the objects that are measured, and nothing else.
const namespace = "agent-sandbox-bench"

func desiredSandbox(name string) *sandboxv1beta1.Sandbox {
	return &sandboxv1beta1.Sandbox{
		TypeMeta: metav1.TypeMeta{
			APIVersion: sandboxv1beta1.GroupVersion.String(), Kind: sandboxv1beta1.SandboxKind,
		},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: sandboxv1beta1.SandboxSpec{PodTemplate: sandboxv1beta1.PodTemplate{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:  "sandbox",
				Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
				}},
			}},
		}}},
	}
}

// desiredPod is as large as the one that the controller makes, and owned alike.
func desiredPod(sandbox *sandboxv1beta1.Sandbox) *corev1.Pod {
	hash := names.Hash(sandbox.Name)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      sandbox.Name,
			Labels: map[string]string{
				sandboxv1beta1.LabelSandboxNameHash: hash,
				sandboxv1beta1.LabelSandboxUID:      string(sandbox.UID),
			},
			Annotations: map[string]string{sandboxv1beta1.AnnotationPodSpecHash: hash + hash},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(sandbox, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind)),
			},
		},
		Spec: *sandbox.Spec.PodTemplate.Spec.DeepCopy(),
	}
}

// poolName is the name of the template, and of the pool where there is one.
const poolName = "pool"

// poolNames are the names of so many pools; less than two: of one.
func poolNames(count int) []string {
	if count < 2 {
		return []string{poolName}
	}
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("%s-%d", poolName, i+1))
	}
	return all
}

func desiredTemplate() *extensionsv1beta1.SandboxTemplate {
	template := &extensionsv1beta1.SandboxTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1beta1.GroupVersion.String(), Kind: extensionsv1beta1.SandboxTemplateKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: poolName},
	}
	template.Spec.PodTemplate = desiredSandbox(poolName).Spec.PodTemplate
	return template
}

func desiredPool(name string, replicas int) *extensionsv1beta1.SandboxWarmPool {
	pool := &extensionsv1beta1.SandboxWarmPool{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1beta1.GroupVersion.String(), Kind: extensionsv1beta1.SandboxWarmPoolKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	pool.Spec.SandboxTemplateRef.Name = poolName
	pool.Spec.Replicas = ptr.To(int32(replicas)) //nolint:gosec // As many as a person asks for.
	return pool
}

func desiredClaim(name, pool string) *extensionsv1beta1.SandboxClaim {
	claim := &extensionsv1beta1.SandboxClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: extensionsv1beta1.GroupVersion.String(), Kind: extensionsv1beta1.SandboxClaimKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	claim.Spec.WarmPoolRef.Name = pool
	return claim
}

func claimRef(claim *extensionsv1beta1.SandboxClaim) metav1.OwnerReference {
	return *metav1.NewControllerRef(claim, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind))
}

// desiredMember is as large as the one that a pool makes, and owned alike.
func desiredMember(pool *extensionsv1beta1.SandboxWarmPool, name string) *sandboxv1beta1.Sandbox {
	hash := names.Hash(pool.Name)
	member := desiredSandbox(name)
	member.Labels = map[string]string{
		sandboxv1beta1.LabelWarmPool: hash, sandboxv1beta1.LabelTemplateRefHash: hash,
		sandboxv1beta1.LabelTemplateRef:     hash + hash + hash + hash,
		sandboxv1beta1.LabelLaunchType:      sandboxv1beta1.LaunchTypeWarm,
		sandboxv1beta1.LabelCreatedBy:       sandboxv1beta1.CreatedByController,
		extensionsv1beta1.LabelTemplateHash: hash + hash,
	}
	member.Annotations = map[string]string{sandboxv1beta1.AnnotationTemplateRef: pool.Name, sandboxv1beta1.AnnotationPodName: name}
	member.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(pool, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind)),
	}
	return member
}

// desiredCold is as large as the Sandbox that a claim starts, and owned alike.
func desiredCold(claim *extensionsv1beta1.SandboxClaim) *sandboxv1beta1.Sandbox {
	sandbox := desiredSandbox(claim.Name)
	sandbox.Labels = map[string]string{
		sandboxv1beta1.LabelClaimUID: string(claim.UID), sandboxv1beta1.LabelLaunchType: sandboxv1beta1.LaunchTypeCold,
	}
	sandbox.OwnerReferences = []metav1.OwnerReference{claimRef(claim)}
	return sandbox
}
