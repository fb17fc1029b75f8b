package chaos

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// What the diary tells of objects.

func describeMeta(object metav1.Object) string {
	text := fmt.Sprintf("UID %s version %s", object.GetUID(), object.GetResourceVersion())
	if ref := metav1.GetControllerOf(object); ref != nil {
		text += " of " + string(ref.UID)
	}
	if object.GetDeletionTimestamp() != nil {
		text += fmt.Sprintf(" terminating %v", object.GetFinalizers())
	}
	return text
}

func describeSandbox(sandbox *sandboxv1beta1.Sandbox) string {
	text := fmt.Sprintf("%s generation %d %s", describeMeta(sandbox), sandbox.Generation, sandbox.Spec.OperatingMode)
	if at := sandbox.Spec.ShutdownTime; at != nil {
		text += fmt.Sprintf(" until %s %s", at.UTC().Format("15:04:05"), sandbox.Spec.ShutdownPolicy)
	}
	var conditions []string
	for _, c := range sandbox.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s/%s/%d", c.Type, c.Status, c.Reason, c.ObservedGeneration))
	}
	return fmt.Sprintf("%s [%s] %v", text, strings.Join(conditions, " "), sandbox.Status.PodIPs)
}

func describePod(pod *corev1.Pod) string {
	return fmt.Sprintf("%s %s on %q", describeMeta(pod), pod.Status.Phase, pod.Spec.NodeName)
}
