package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

const (
	// recreateFirst is the pause before a Pod is replaced that failed twice in a row; it doubles with each further failure.
	recreateFirst = 10 * time.Second
	// recreateLongest bounds that pause.
	recreateLongest = 5 * time.Minute
	// recreateReset is how long a Pod has to run for its failure to count as the first one. As the kubelet does with containers.
	recreateReset = 10 * time.Minute
	// clockSkew is how far the clock of a node may be ahead.
	clockSkew = time.Minute
)

// podEnded says whether the Pod has come to an end of its own: its containers ended, or the kubelet evicted it. A Pod that
// was deleted, drained, preempted or lost with its node has not ended, whatever phase it passes through on its way out.
func podEnded(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return false
	}
	return !isDisrupted(pod) && !deletedFirst(pod)
}

func podFailed(pod *corev1.Pod) bool {
	return podEnded(pod) && pod.Status.Phase == corev1.PodFailed
}

// isDisrupted says whether the cluster is about to delete the Pod for reasons that lie outside it.
func isDisrupted(pod *corev1.Pod) bool {
	target := podCondition(pod, corev1.DisruptionTarget)
	return target != nil && target.Status == corev1.ConditionTrue && target.Reason != corev1.PodReasonTerminationByKubelet
}

// deletedFirst says whether the Pod was deleted before its last container ended. Once the kubelet is done with a deletion it
// sets the grace period to zero, and when the deletion was requested is lost: then it was first.
func deletedFirst(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	grace := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
	if grace == 0 {
		return true
	}
	requested := pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	last := lastContainerEnd(pod)
	return last.IsZero() || !last.Before(requested)
}

// lastContainerEnd is zero when no container ended.
func lastContainerEnd(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range containerStatuses(pod) {
		if ended := status.State.Terminated; ended != nil && ended.FinishedAt.After(last) {
			last = ended.FinishedAt.Time
		}
	}
	return last
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// podFailure names the cause, for it stays readable after the Pod is gone.
func podFailure(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return strings.TrimSuffix(fmt.Sprintf("Pod failed: %s: %s", pod.Status.Reason, pod.Status.Message), ": ")
	}
	for _, status := range containerStatuses(pod) {
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return fmt.Sprintf("Pod failed: container %s %s", status.Name, howItEnded(ended))
		}
	}
	return "Pod failed"
}

// isRecreated says whether a Pod that failed is to be replaced.
func isRecreated(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox.Spec.PodFailurePolicy == sandboxv1beta1.PodFailurePolicyRecreate
}

// failuresBefore is how many Pods failed in a row before this one.
func failuresBefore(pod *corev1.Pod) int {
	failures, err := strconv.Atoi(pod.Annotations[sandboxv1beta1.AnnotationPodFailures])
	started := pod.Status.StartTime
	if err != nil || failures < 0 || started != nil && endOf(pod).Sub(started.Time) >= recreateReset {
		return 0
	}
	return failures
}

// recreateTime is when a failed Pod is replaced: the first one at once. An end that lies ahead is that of a node whose clock is wrong:
// the Pod's creation counts in its place.
func recreateTime(pod *corev1.Pod, now time.Time) time.Time {
	failures, end := failuresBefore(pod), endOf(pod)
	if end.Sub(now) > clockSkew {
		end = pod.CreationTimestamp.Time
	}
	if failures == 0 {
		return end
	}
	pause := recreateLongest
	if doublings := failures - 1; doublings < 5 {
		pause = min(recreateFirst<<doublings, recreateLongest)
	}
	return end.Add(pause)
}

// endOf is when a failed Pod ended, as far as its status tells.
func endOf(pod *corev1.Pod) time.Time {
	end := lastContainerEnd(pod)
	for _, condition := range pod.Status.Conditions {
		if relevant := condition.Type == corev1.PodReady || condition.Type == corev1.DisruptionTarget; relevant && condition.LastTransitionTime.After(end) {
			end = condition.LastTransitionTime.Time
		}
	}
	if end.IsZero() {
		return pod.CreationTimestamp.Time
	}
	return end
}
