package explain_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// now is when everything is read, and before when everything was made.
var (
	now    = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	before = ago(5 * time.Minute)
)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid of " + name), Generation: 1, CreationTimestamp: before}
}

func conditions(of, reason, message string, status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: of, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: before}}
}

// unready is a Sandbox that is not ready for a reason; modify changes it further.
func unready(reason, message string, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	sandbox := &sandboxv1beta1.Sandbox{ObjectMeta: named("box")}
	sandbox.Status.Conditions = conditions(sandboxv1beta1.ConditionReady, reason, message, metav1.ConditionFalse)
	for _, m := range modify {
		m(sandbox)
	}
	return sandbox
}

// says adds a condition.
func says(of, reason, message string, status metav1.ConditionStatus) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Status.Conditions = append(s.Status.Conditions, conditions(of, reason, message, status)...)
	}
}

// waits is a Sandbox that waits for what its Pod is about.
func waits(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	return unready(sandboxv1beta1.ReasonDependenciesNotReady, "Pod exists with phase: Pending", modify...)
}

// pod is the Pod of box on a node; modify changes it further.
func pod(modify ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: named("box")}
	made.UID = "uid of the Pod"
	made.OwnerReferences = []metav1.OwnerReference{{Kind: sandboxv1beta1.SandboxKind, Name: "box", UID: "uid of box", Controller: ptr.To(true)}}
	made.Spec.NodeName = "node-1"
	made.Status.Phase = corev1.PodPending
	for _, m := range modify {
		m(&made)
	}
	return made
}

// unscheduled takes its node away, for a reason.
func unscheduled(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = ""
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: before,
		}}
	}
}

// container has its container wait.
func container(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", Image: "example.com/image:v1", RestartCount: 4,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 7, Reason: "Error", FinishedAt: ago(time.Minute),
			}},
		}}
	}
}

// running has it run, for a while.
func running(p *corev1.Pod) {
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &before
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [main]"})
}

func podReady(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

// deletedPod is on its way out; its grace period ended so long ago.
func deletedPod(overdue time.Duration, finalizers ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = ptr.To(ago(overdue)), finalizers
	}
}

// event is one about the Pod.
func event(reason, message string) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{UID: "uid of the Pod"}, Type: corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: ago(time.Minute),
	}
}

// disk is one of box that waits; modify changes it further.
func disk(class *string, modify ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
	made := corev1.PersistentVolumeClaim{ObjectMeta: named("data-box")}
	made.Spec.StorageClassName = class
	made.Status.Phase = corev1.ClaimPending
	for _, m := range modify {
		m(&made)
	}
	return made
}

// seen is what was read of a Sandbox and its Pods.
func seen(sandbox *sandboxv1beta1.Sandbox, pods ...corev1.Pod) explain.Seen {
	return explain.Seen{Now: now, Namespace: "team", Sandbox: sandbox, Pods: pods}
}

// claim is one that is not ready for a reason.
func claim(reason, message string) *extensionsv1beta1.SandboxClaim {
	made := &extensionsv1beta1.SandboxClaim{ObjectMeta: named("session")}
	made.Spec.WarmPoolRef.Name = "agents"
	made.Status.Conditions = conditions(extensionsv1beta1.ConditionReady, reason, message, metav1.ConditionFalse)
	return made
}

// pool is one of so many members, of which so many are ready.
func pool(size, ready int32, reason, message string, status metav1.ConditionStatus) *extensionsv1beta1.SandboxWarmPool {
	made := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: named("agents")}
	made.Spec.Replicas, made.Spec.SandboxTemplateRef.Name = &size, "agents"
	made.Status.ReadyReplicas, made.Status.ObservedGeneration = ready, 1
	made.Status.Conditions = conditions(extensionsv1beta1.ConditionProgressing, reason, message, status)
	return made
}

// deleted marks an object as being deleted for so long.
func deleted[T client.Object](object T, since time.Duration, finalizers ...string) T {
	object.SetDeletionTimestamp(ptr.To(ago(since)))
	object.SetFinalizers(finalizers)
	return object
}
