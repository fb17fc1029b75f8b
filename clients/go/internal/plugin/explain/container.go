package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The words in which a kubelet says why a container does not run.
const (
	imageNotPulled  = "ErrImagePull"
	imageBackOff    = "ImagePullBackOff"
	imageNeverPull  = "ErrImageNeverPull"
	imageInvalid    = "InvalidImageName"
	imageInspect    = "ImageInspectError"
	configError     = "CreateContainerConfigError"
	createError     = "CreateContainerError"
	runError        = "RunContainerError"
	crashLoop       = "CrashLoopBackOff"
	eventPulling    = "Pulling"
	eventPulled     = "Pulled"
	eventMount      = "FailedMount"
	eventAttach     = "FailedAttachVolume"
	eventPodSandbox = "FailedCreatePodSandBox"
)

// containers explains the first container that waits; init containers come first.
func containers(s Seen, pod *corev1.Pod) []Finding {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for i := range statuses {
		if f, waits := container(s, pod, &statuses[i]); waits {
			return one(f)
		}
	}
	return starting(s, pod)
}

// container explains one that waits for something which passes not at all, or not by itself.
func container(s Seen, pod *corev1.Pod, status *corev1.ContainerStatus) (Finding, bool) {
	waits := status.State.Waiting
	if waits == nil {
		return Finding{}, false
	}
	why := waits.Reason
	if waits.Message != "" {
		why += ": " + waits.Message
	}
	describe := s.kubectl("describe pod %s", pod.Name)
	edit := append([]string{describe, s.kubectl("edit sandbox %s", s.Sandbox.Name)}, s.restart()...)
	since := pod.CreationTimestamp.Time
	switch waits.Reason {
	case imageNotPulled, imageBackOff, imageNeverPull, imageInvalid, imageInspect:
		return found(Stuck, ImagePull, "The image %q of container %s cannot be had", status.Image, status.Name).because("%s", why).since(since).next(edit...), true
	case configError, createError, runError:
		return found(Stuck, ContainerConfig, "Container %s cannot be made: what it refers to is missing or wrong", status.Name).
			because("%s", why).since(since).next(edit...), true
	case crashLoop:
		return crashing(s, pod, status), true
	}
	return Finding{}, false
}

func crashing(s Seen, pod *corev1.Pod, status *corev1.ContainerStatus) Finding {
	f := found(Stuck, ContainerCrashes, "Container %s ends again and again", status.Name).since(pod.CreationTimestamp.Time)
	if last := status.LastTerminationState.Terminated; last != nil {
		why := fmt.Sprintf("it ended %d times, at last with exit code %d (%s)", status.RestartCount, last.ExitCode, last.Reason)
		if last.Message != "" {
			why += ": " + last.Message
		}
		f = f.because("%s", why).since(last.FinishedAt.Time)
	}
	return f.next(s.plugin("logs %s -c %s --previous", s.Sandbox.Name, status.Name), s.kubectl("describe pod %s", pod.Name))
}

// starting explains, by Events, a Pod on a node none of whose containers was made yet.
func starting(s Seen, pod *corev1.Pod) []Finding {
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	describe := s.kubectl("describe pod %s", pod.Name)
	began := pod.CreationTimestamp.Time
	if event := s.latest(pod, eventMount, eventAttach); event != nil {
		return one(found(Stuck, MountFails, "A volume cannot be mounted on node %s", pod.Spec.NodeName).because("%s", event.Message).since(began).next(describe))
	}
	if event := s.latest(pod, eventPodSandbox); event != nil {
		return one(found(Stuck, PodSandboxFails, "Node %s cannot make the isolation that its Pod runs in", pod.Spec.NodeName).
			because("%s", event.Message).since(began).next(describe, "kubectl get runtimeclass"))
	}
	if event := s.latest(pod, eventPulling, eventPulled); event != nil && event.Reason == eventPulling {
		return one(found(Waiting, ImagePulling, "Its image is being pulled on node %s", pod.Spec.NodeName).because("%s", event.Message).since(lastSeen(event)))
	}
	return nil
}
