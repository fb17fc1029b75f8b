package await

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const absent = "it does not exist"

// Exists wants an object, whatever its state.
func Exists[T client.Object]() Want[T] {
	return func(seen T) string {
		if any(seen) == any(*new(T)) {
			return absent
		}
		return ""
	}
}

// Condition wants a condition of a Sandbox to have a status and a reason, observed in the Sandbox's own generation.
func Condition(kind string, status metav1.ConditionStatus, reason string) Want[*sandboxv1beta1.Sandbox] {
	return func(seen *sandboxv1beta1.Sandbox) string {
		if seen == nil {
			return absent
		}
		return differs(metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: seen.Generation}, seen.Status.Conditions)
	}
}

// ClaimCondition is Condition for a SandboxClaim.
func ClaimCondition(kind string, status metav1.ConditionStatus, reason string) Want[*extensionsv1beta1.SandboxClaim] {
	return func(seen *extensionsv1beta1.SandboxClaim) string {
		if seen == nil {
			return absent
		}
		return differs(metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: seen.Generation}, seen.Status.Conditions)
	}
}

// differs says how the condition of the wanted one's type is not as wanted, whatever its message.
func differs(want metav1.Condition, among []metav1.Condition) string {
	wanted := fmt.Sprintf("want condition %s=%s %s of generation %d", want.Type, want.Status, want.Reason, want.ObservedGeneration)
	is := meta.FindStatusCondition(among, want.Type)
	switch {
	case is == nil:
		return wanted + ", there is none"
	case is.Status != want.Status || is.Reason != want.Reason || is.ObservedGeneration != want.ObservedGeneration:
		return fmt.Sprintf("%s, it is %s %s of generation %d: %s", wanted, is.Status, is.Reason, is.ObservedGeneration, is.Message)
	default:
		return ""
	}
}

// Served wants a claim that has a Sandbox which can be used.
func Served() Want[*extensionsv1beta1.SandboxClaim] {
	return ClaimCondition(extensionsv1beta1.ConditionReady, metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
}

// Members wants a pool that has so many members, all of which a claim could take.
func Members(count int32) Want[*extensionsv1beta1.SandboxWarmPool] {
	return func(seen *extensionsv1beta1.SandboxWarmPool) string {
		switch {
		case seen == nil:
			return absent
		case seen.Status.ObservedGeneration != seen.Generation || seen.Status.Replicas != count || seen.Status.ReadyReplicas != count:
			return fmt.Sprintf("want %d members, ready, of generation %d; there are %d, %d of them ready, of generation %d",
				count, seen.Generation, seen.Status.Replicas, seen.Status.ReadyReplicas, seen.Status.ObservedGeneration)
		default:
			return ""
		}
	}
}

// Ready wants a Sandbox that can be used.
func Ready() Want[*sandboxv1beta1.Sandbox] {
	return Condition(sandboxv1beta1.ConditionReady, metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
}

// Suspended wants a Sandbox whose Pod is gone on request.
func Suspended() Want[*sandboxv1beta1.Sandbox] {
	return Condition(sandboxv1beta1.ConditionSuspended, metav1.ConditionTrue, sandboxv1beta1.ReasonPodTerminated)
}

// Scheduled wants a Pod that has a node.
func Scheduled() Want[*corev1.Pod] {
	return func(seen *corev1.Pod) string {
		switch {
		case seen == nil:
			return absent
		case seen.Spec.NodeName == "":
			return "it has no node yet"
		default:
			return ""
		}
	}
}

// Bound wants a claim that has its volume.
func Bound() Want[*corev1.PersistentVolumeClaim] {
	return func(seen *corev1.PersistentVolumeClaim) string {
		switch {
		case seen == nil:
			return absent
		case seen.Status.Phase != corev1.ClaimBound:
			return fmt.Sprintf("its phase is %s, not Bound", seen.Status.Phase)
		default:
			return ""
		}
	}
}
