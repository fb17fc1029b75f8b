package await

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
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
		wanted := fmt.Sprintf("want condition %s=%s %s of generation %d", kind, status, reason, seen.Generation)
		is := meta.FindStatusCondition(seen.Status.Conditions, kind)
		switch {
		case is == nil:
			return wanted + ", there is none"
		case is.Status != status || is.Reason != reason || is.ObservedGeneration != seen.Generation:
			return fmt.Sprintf("%s, it is %s %s of generation %d: %s", wanted, is.Status, is.Reason, is.ObservedGeneration, is.Message)
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
