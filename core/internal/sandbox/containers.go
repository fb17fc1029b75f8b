package sandbox

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mostOfACause is how much of what a container runtime says is told.
const mostOfACause = 256

// containersCause names what keeps containers of the Pod from running, those that merely have not started yet apart. What a kubelet says in
// turns reads alike, and what is different each time is left to Events: or each would be one more write.
func containersCause(pod *corev1.Pod) string {
	var cause strings.Builder
	for i, status := range containerStatuses(pod) {
		isInit := i < len(pod.Status.InitContainerStatuses)
		switch ended, waits := status.State.Terminated, status.State.Waiting; {
		case ended != nil && isInit && ended.ExitCode == 0: // Its work is done.
		case ended != nil:
			fmt.Fprintf(&cause, "; container %s ended: %s", status.Name, howItEnded(ended))
		case waits != nil:
			cause.WriteString(whyItWaits(status, *waits))
		}
	}
	return cause.String()
}

func whyItWaits(status corev1.ContainerStatus, waits corev1.ContainerStateWaiting) string {
	ended := status.LastTerminationState.Terminated
	switch {
	case waits.Reason == "" || waits.Reason == "ContainerCreating" || waits.Reason == "PodInitializing":
		return ""
	case waits.Reason == "CrashLoopBackOff" && ended != nil:
		return fmt.Sprintf("; container %s ended: %s", status.Name, howItEnded(ended))
	case waits.Reason == "ErrImagePull" || waits.Reason == "ImagePullBackOff":
		return fmt.Sprintf("; container %s: ImagePullBackOff: image %s cannot be pulled, Events of the Pod say why", status.Name, status.Image)
	default:
		return strings.TrimSuffix(fmt.Sprintf("; container %s: %s: %s", status.Name, waits.Reason, shortened(waits.Message)), ": ")
	}
}

// howItEnded tells an end; a container that could not be started at all has the cause in its message.
func howItEnded(ended *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s, exit code %d", cmp.Or(ended.Reason, "Error"), ended.ExitCode)
	if ended.Reason == "StartError" || ended.Reason == "ContainerCannotRun" {
		text += ": " + shortened(ended.Message)
	}
	return text
}

// shortened keeps the end of a text: runtimes put the cause last.
func shortened(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= mostOfACause {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-mostOfACause:])
}
