package chaos

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
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
	return fmt.Sprintf("%s [%s] %v", text, describeConditions(sandbox.Status.Conditions), sandbox.Status.PodIPs)
}

func describeConditions(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s=%s/%s/%d", c.Type, c.Status, c.Reason, c.ObservedGeneration))
	}
	return strings.Join(all, " ")
}

func describeClaim(claim *extensionsv1beta1.SandboxClaim) string {
	text := fmt.Sprintf("%s generation %d on %s", describeMeta(claim), claim.Generation, claim.Spec.WarmPoolRef.Name)
	if life := claim.Spec.Lifecycle; life != nil && life.ShutdownTime != nil {
		text += fmt.Sprintf(" until %s %s", life.ShutdownTime.UTC().Format("15:04:05"), life.ShutdownPolicy)
	}
	if uid := claim.Annotations[extensionsv1beta1.AnnotationDiscarding]; uid != "" {
		text += " discarding " + uid
	}
	return fmt.Sprintf("%s has %q [%s] %v", text, claim.Status.Sandbox.Name, describeConditions(claim.Status.Conditions), claim.Status.Sandbox.PodIPs)
}

func describePool(pool *extensionsv1beta1.SandboxWarmPool) string {
	return fmt.Sprintf("%s generation %d wants %d has %d Ready %d [%s]", describeMeta(pool), pool.Generation,
		ptr.Deref(pool.Spec.Replicas, 1), pool.Status.Replicas, pool.Status.ReadyReplicas, describeConditions(pool.Status.Conditions))
}

// describeChange is the beginning of a line about one.
func describeChange(c sighting.Change) string {
	text := fmt.Sprintf("%T", c.Object())
	if kind := strings.LastIndex(text, "."); kind >= 0 {
		text = text[kind+1:]
	}
	if c.Unseen {
		text = "unseen: " + text
	}
	if c.After == nil {
		text += fmt.Sprintf(" gone at %d,", c.Version)
	}
	return text
}

func describePod(pod *corev1.Pod) string {
	return fmt.Sprintf("%s %s on %q", describeMeta(pod), pod.Status.Phase, pod.Spec.NodeName)
}
