package claims_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

const namespace = "ns"

func now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// thePool is a pool named "pool" of so many members.
func thePool(replicas int32) *extensionsv1beta1.SandboxWarmPool {
	pool := fixture.Pool(fixture.Template(namespace, "template"), "pool", replicas)
	pool.UID, pool.Generation = "pool-uid", 1
	pool.Status = extensionsv1beta1.SandboxWarmPoolStatus{Replicas: replicas, ReadyReplicas: replicas, UpdatedReadyReplicas: replicas, ObservedGeneration: 1}
	return pool
}

// claim has the UID of its name.
func claim(name string, modify ...func(*extensionsv1beta1.SandboxClaim)) *extensionsv1beta1.SandboxClaim {
	made := fixture.Claim(thePool(1), name)
	made.UID, made.Generation = types.UID(name), 1
	for _, m := range modify {
		m(made)
	}
	return made
}

func saying(status metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: extensionsv1beta1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: 1}}
}

// having has published the name of a Sandbox.
func having(sandbox string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Status.Sandbox = extensionsv1beta1.ClaimedSandbox{Name: sandbox, PodIPs: []string{"10.0.0.1"}}
		c.Status.Conditions = saying(metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
	}
}

func expired(c *extensionsv1beta1.SandboxClaim) {
	c.Status = extensionsv1beta1.SandboxClaimStatus{Conditions: saying(metav1.ConditionFalse, extensionsv1beta1.ReasonClaimExpired)}
}

func until(at time.Time, policy extensionsv1beta1.ShutdownPolicy) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: &metav1.Time{Time: at}, ShutdownPolicy: policy}
	}
}

func discarding(uid string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Annotations = map[string]string{extensionsv1beta1.AnnotationDiscarding: uid}
	}
}

// going is on its way out.
func going[T client.Object](object T) T {
	copied := object.DeepCopyObject().(T)
	copied.SetDeletionTimestamp(&metav1.Time{Time: now()})
	return copied
}

func ofPool() *metav1.OwnerReference {
	return metav1.NewControllerRef(thePool(1), extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
}

func ofClaim(name string) *metav1.OwnerReference {
	return metav1.NewControllerRef(claim(name), extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind))
}

// sandbox has the UID of its name, is Ready, and belongs to those.
func sandbox(name string, owners ...*metav1.OwnerReference) *sandboxv1beta1.Sandbox {
	made := fixture.Sandbox(namespace, name)
	made.UID, made.Generation = types.UID(name), 1
	made.Labels = map[string]string{extensionsv1beta1.LabelTemplateHash: "hash"}
	made.Status.PodIPs = []string{"10.0.0.1"}
	made.Status.Conditions = saying(metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
	for _, owner := range owners {
		made.OwnerReferences = append(made.OwnerReferences, *owner)
		if owner.Kind == extensionsv1beta1.SandboxClaimKind {
			made.Labels[sandboxv1beta1.LabelClaimUID] = string(owner.UID)
			made.Labels[sandboxv1beta1.LabelLaunchType] = sandboxv1beta1.LaunchTypeWarm
		}
	}
	return made
}

// pod runs, and belongs to the Sandbox.
func pod(of *sandboxv1beta1.Sandbox) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: fixture.Named(namespace, of.Name), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind))}
	return made
}
