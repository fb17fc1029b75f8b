package bench

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
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
