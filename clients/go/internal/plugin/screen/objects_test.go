package screen_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func named(name string, age time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid of " + name), Generation: 1, CreationTimestamp: ago(age)}
}

func condition(of, reason, message string, status metav1.ConditionStatus, age time.Duration) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: ago(age)}
}

func ofOwner(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID("uid of " + name), Controller: ptr.To(true)}}
}

// box is a Sandbox with a condition Ready.
func box(name string, age time.Duration, reason, message string, status metav1.ConditionStatus) sandboxv1beta1.Sandbox {
	made := sandboxv1beta1.Sandbox{ObjectMeta: named(name, age)}
	made.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning
	made.Status.Conditions = []metav1.Condition{condition(sandboxv1beta1.ConditionReady, reason, message, status, age)}
	return made
}

func readyBox(name, node, ip string, age time.Duration, owners ...metav1.OwnerReference) sandboxv1beta1.Sandbox {
	made := box(name, age, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready", metav1.ConditionTrue)
	made.OwnerReferences, made.Status.NodeName, made.Status.PodIPs = owners, node, []string{ip}
	return made
}

// brokenBox waits for an image that there is not.
func brokenBox() sandboxv1beta1.Sandbox {
	return box("my-experiment", 4*time.Minute, sandboxv1beta1.ReasonDependenciesNotReady, "Pod exists with phase: Pending", metav1.ConditionFalse)
}

// sandboxes are one that is in use, one that is suspended, one that is stuck, and what a pool and a claim of it have.
func sandboxes() []sandboxv1beta1.Sandbox {
	mine := readyBox("my-sandbox", "node-1", "10.0.1.7", 3*time.Hour)
	mine.Spec.ShutdownTime = ptr.To(metav1.NewTime(now.Add(5 * time.Hour)))
	asleep := box("my-notebook", 48*time.Hour, sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended", metav1.ConditionFalse)
	asleep.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended
	return []sandboxv1beta1.Sandbox{
		readyBox("my-agents-4lj8s", "node-1", "10.0.1.9", 20*time.Minute, ofOwner(extensionsv1beta1.SandboxClaimKind, "my-session")...),
		readyBox("my-agents-x2k7p", "node-2", "10.0.2.4", 15*time.Minute, ofOwner(extensionsv1beta1.SandboxWarmPoolKind, "my-agents")...),
		brokenBox(), asleep, mine,
	}
}

func claims() []extensionsv1beta1.SandboxClaim {
	served := extensionsv1beta1.SandboxClaim{ObjectMeta: named("my-session", 12*time.Minute)}
	served.Spec.WarmPoolRef.Name = "my-agents"
	served.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: ptr.To(metav1.NewTime(now.Add(48 * time.Minute)))}
	served.Status.Sandbox = extensionsv1beta1.ClaimedSandbox{Name: "my-agents-4lj8s", PodIPs: []string{"10.0.1.9"}}
	served.Status.Conditions = []metav1.Condition{condition(extensionsv1beta1.ConditionReady, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready", metav1.ConditionTrue, 12*time.Minute)}
	return []extensionsv1beta1.SandboxClaim{served, lostClaim()}
}

// lostClaim names a pool that there is not.
func lostClaim() extensionsv1beta1.SandboxClaim {
	made := extensionsv1beta1.SandboxClaim{ObjectMeta: named("my-task", 2*time.Minute)}
	made.Spec.WarmPoolRef.Name = "my-agent"
	made.Status.Conditions = []metav1.Condition{
		condition(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonWarmPoolNotFound, `SandboxWarmPool "my-agent" not found`, metav1.ConditionFalse, 2*time.Minute),
	}
	return made
}

func pools() []extensionsv1beta1.SandboxWarmPool {
	made := extensionsv1beta1.SandboxWarmPool{ObjectMeta: named("my-agents", 48*time.Hour)}
	made.Spec.Replicas, made.Spec.SandboxTemplateRef.Name = ptr.To[int32](3), "my-agents"
	made.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyOnReplenish
	made.Status = extensionsv1beta1.SandboxWarmPoolStatus{Replicas: 3, ReadyReplicas: 1, UpdatedReadyReplicas: 1, ObservedGeneration: 1}
	made.Status.Conditions = []metav1.Condition{condition(extensionsv1beta1.ConditionProgressing, extensionsv1beta1.ReasonWarmPoolNotProgressing,
		"0/2 nodes are available: 2 Insufficient memory.", metav1.ConditionFalse, 9*time.Minute)}
	return []extensionsv1beta1.SandboxWarmPool{made}
}

// broken is what is read of brokenBox.
func broken() explain.Seen {
	sandbox := brokenBox()
	pod := corev1.Pod{ObjectMeta: named("my-experiment", 4*time.Minute)}
	pod.Spec.NodeName, pod.Status.Phase = "node-2", corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "example.com/pyhton:3.13", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `Back-off pulling image "example.com/pyhton:3.13": not found`,
		}},
	}}
	return explain.Seen{Now: now, Namespace: "team-a", Sandbox: &sandbox, Pods: []corev1.Pod{pod}}
}

// held is what is read of the pool, two of whose members find no node.
func held() explain.Seen {
	member := box("my-agents-9q2wd", 9*time.Minute, sandboxv1beta1.ReasonDependenciesNotReady, "Pod exists with phase: Pending", metav1.ConditionFalse)
	pod := corev1.Pod{ObjectMeta: named("my-agents-9q2wd", 9*time.Minute)}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: ago(9 * time.Minute),
		Message: "0/2 nodes are available: 2 Insufficient memory. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
	}}
	return explain.Seen{Now: now, Namespace: "team-a", Pool: &pools()[0], Sandbox: &member, Pods: []corev1.Pod{pod}}
}

func lost() explain.Seen {
	claim := lostClaim()
	return explain.Seen{Now: now, Namespace: "team-a", Claim: &claim, PoolNames: []string{"my-agents"}}
}

func usage() []screen.Used {
	used := func(of sandboxv1beta1.Sandbox, cpu, memory string) screen.Used {
		pod := &corev1.Pod{ObjectMeta: of.ObjectMeta}
		pod.Spec.NodeName = of.Status.NodeName
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}}
		u := screen.Used{Sandbox: &of, Pod: pod}
		if cpu != "" {
			u.Metrics = &metricsv1beta1.PodMetrics{Containers: []metricsv1beta1.ContainerMetrics{{Usage: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}}}}
		}
		return u
	}
	all := sandboxes()
	return []screen.Used{used(all[0], "412m", "310Mi"), used(all[1], "", ""), used(all[4], "3m", "41Mi")}
}
