package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// Every condition has a function of its own: what it is now, or nil when it has nothing to say.

func condition(kind string, status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func notReady(reason, message string) *metav1.Condition {
	return condition(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, reason, message)
}

func readyCondition(s seen, failures []error) *metav1.Condition {
	finished := finishedCondition(s)
	switch {
	case s.expired():
		return notReady(sandboxv1beta1.ReasonSandboxExpired, "Sandbox has expired")
	case len(s.pods) > 1 && !s.suspended():
		return notReady(sandboxv1beta1.ReasonMultiplePods, fmt.Sprintf(
			"multiple Pods (%d) are controlled by this Sandbox; refusing to choose or create a Pod", len(s.pods)))
	case s.suspended() && suspendedCondition(s).Status == metav1.ConditionTrue:
		return notReady(sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended")
	case len(failures) > 0:
		return notReady(failureReason(worst(failures)), failureMessage(failures))
	case s.suspended():
		return notReady(sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspending")
	case finished != nil:
		return notReady(finished.Reason, finished.Message)
	case s.pod() != nil && isReplaced(s.pod(), s):
		return notReady(sandboxv1beta1.ReasonPodFailed, podFailure(s.pod()))
	default:
		return dependenciesCondition(s)
	}
}

// dependenciesCondition is Ready of a Sandbox that should run and meets no failure.
func dependenciesCondition(s seen) *metav1.Condition {
	podReady, message := podReadiness(s.pod())
	message += pendingCause(s)
	if s.pod() != nil && !podReady {
		message += containersCause(s.pod())
	}
	serviceReady := true
	if serviceRequired(s.sandbox) {
		serviceReady = hasService(s)
		message += map[bool]string{true: "; Service Exists", false: "; Service does not exist"}[serviceReady]
	}
	if podReady && serviceReady {
		return condition(sandboxv1beta1.ConditionReady, metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady, message)
	}
	return notReady(sandboxv1beta1.ReasonDependenciesNotReady, message)
}

func podReadiness(pod *corev1.Pod) (bool, string) {
	switch {
	case pod == nil:
		return false, "Pod does not exist"
	case pod.DeletionTimestamp != nil:
		return false, "Pod is terminating"
	case pod.Status.Phase != corev1.PodRunning:
		return false, "Pod exists with phase: " + string(cmp.Or(pod.Status.Phase, corev1.PodPending))
	case !podConditionTrue(pod, corev1.PodReady):
		return false, "Pod is Running but not Ready"
	case len(pod.Status.PodIPs) == 0:
		return false, "Pod is Ready but has no podIPs yet"
	default:
		return true, "Pod is Ready"
	}
}

// pendingCause names what keeps the Pod from being made or scheduled, where the Pod's own condition does not.
func pendingCause(s seen) string {
	pod := s.pod()
	switch {
	case pod == nil && s.foreignPod != nil && onItsWayOut(s.foreignPod, s.sandbox):
		return "; an earlier Pod of that name is still on its way out"
	case pod == nil || pod.Spec.NodeName != "":
		return ""
	}
	var cause strings.Builder
	for _, gate := range pod.Spec.SchedulingGates {
		fmt.Fprintf(&cause, "; scheduling gate %s is closed", gate.Name)
	}
	for _, claim := range slices.Sorted(maps.Keys(s.missingClasses)) {
		fmt.Fprintf(&cause, "; StorageClass %q of PersistentVolumeClaim %q does not exist", s.missingClasses[claim], claim)
	}
	return cause.String()
}

func hasService(s seen) bool {
	return s.service != nil && isOurs(s.service, s.sandbox) && s.service.DeletionTimestamp == nil && isHeadless(s.service)
}

func suspendedCondition(s seen) *metav1.Condition {
	kind := sandboxv1beta1.ConditionSuspended
	switch {
	case !s.suspended():
		return condition(kind, metav1.ConditionFalse, sandboxv1beta1.ReasonNotSuspended, "Sandbox is not suspended")
	case s.podsUnknown:
		return condition(kind, metav1.ConditionUnknown, sandboxv1beta1.ReasonPodStateUnknown,
			"Pod state is unknown. Sandbox suspension cannot be confirmed")
	case s.podsStay:
		return condition(kind, metav1.ConditionFalse, sandboxv1beta1.ReasonPodTerminating, "Pod could not be deleted. Sandbox is suspending")
	case len(s.pods) > 0:
		return condition(kind, metav1.ConditionFalse, sandboxv1beta1.ReasonPodTerminating, "Pod is terminating. Sandbox is suspending")
	case s.foreignPod != nil:
		return condition(kind, metav1.ConditionFalse, sandboxv1beta1.ReasonPodNotOwned,
			"Refused to delete pod because it is not owned by this sandbox")
	default:
		return condition(kind, metav1.ConditionTrue, sandboxv1beta1.ReasonPodTerminated,
			"Pod has been terminated. Sandbox is suspended")
	}
}

func scheduledCondition(s seen) *metav1.Condition {
	kind := sandboxv1beta1.ConditionPodScheduled
	pod := s.pod()
	switch {
	case s.expired():
		return nil
	case s.podsUnknown:
		return condition(kind, metav1.ConditionUnknown, sandboxv1beta1.ReasonPodSchedulingUnknown,
			"Pod state is unknown. Pod scheduling cannot be determined")
	case pod == nil:
		return nil
	}
	reported := podCondition(pod, corev1.PodScheduled)
	if reported == nil {
		return condition(kind, metav1.ConditionUnknown, sandboxv1beta1.ReasonPodSchedulingUnknown,
			"Pod has not reported a PodScheduled condition yet")
	}
	reason := sandboxv1beta1.ReasonPodSchedulingUnknown
	if reported.Status == corev1.ConditionTrue {
		reason = sandboxv1beta1.ReasonPodScheduled
	}
	return condition(kind, metav1.ConditionStatus(reported.Status), cmp.Or(reported.Reason, reason), reported.Message)
}

// finishedCondition says that the Pod has ended. It outlives the Pod, with the generation at which the end was last
// seen, until the spec changes.
func finishedCondition(s seen) *metav1.Condition {
	kind := sandboxv1beta1.ConditionFinished
	pod := s.pod()
	switch {
	case pod != nil && isReplaced(pod, s):
		return nil
	case pod != nil && podFailed(pod):
		return condition(kind, metav1.ConditionTrue, sandboxv1beta1.ReasonPodFailed, podFailure(pod))
	case pod != nil && podEnded(pod):
		return condition(kind, metav1.ConditionTrue, sandboxv1beta1.ReasonPodSucceeded, "Pod completed successfully")
	case pod != nil && pod.DeletionTimestamp == nil && !s.expired() && !s.suspended():
		return nil
	}
	if s.expired() || s.suspended() || finishedStands(s.sandbox) {
		return meta.FindStatusCondition(s.sandbox.Status.Conditions, kind)
	}
	return nil
}

// driftedCondition says that the running Pod was made from another spec than the Sandbox has now.
func driftedCondition(s seen) *metav1.Condition {
	pod := s.pod()
	if s.expired() || s.suspended() || pod == nil || pod.DeletionTimestamp != nil || podEnded(pod) {
		return nil
	}
	madeFrom := pod.Annotations[sandboxv1beta1.AnnotationPodSpecHash]
	if madeFrom == "" || madeFrom == s.specHash {
		return nil
	}
	return condition(sandboxv1beta1.ConditionPodTemplateDrifted, metav1.ConditionTrue, sandboxv1beta1.ReasonPodSpecChanged,
		"podTemplate.spec has changed since the Pod was created; suspend and resume the Sandbox to apply it")
}

// recreatingCondition says that a failed Pod waits for its successor.
func recreatingCondition(s seen) *metav1.Condition {
	pod := s.pod()
	if s.expired() || pod == nil || !isReplaced(pod, s) {
		return nil
	}
	return condition(sandboxv1beta1.ConditionPodRecreating, metav1.ConditionTrue, sandboxv1beta1.ReasonBackingOff,
		fmt.Sprintf("%s; failed Pods in a row: %d; the next one is made at %s",
			podFailure(pod), failuresBefore(pod)+1, recreateTime(pod, s.now).UTC().Format(time.RFC3339)))
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func podConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	reported := podCondition(pod, kind)
	return reported != nil && reported.Status == corev1.ConditionTrue
}
