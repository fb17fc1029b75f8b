package explain

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// podByState explains, from the Pod and what it stands on, why the Sandbox is not ready.
func podByState(s Seen) []Finding {
	if len(s.Pods) == 0 {
		return noPod(s)
	}
	pod := &s.Pods[0]
	for _, check := range []func(Seen, *corev1.Pod) []Finding{podTerminating, podUnscheduled, containers, podNotReady, noAddress, noService} {
		if findings := check(s, pod); len(findings) > 0 {
			return findings
		}
	}
	return nil
}

func noPod(s Seen) []Finding {
	if s.Foreign != nil {
		return one(foreign(s, readyOf(s).Message))
	}
	f := found(Waiting, PodMissing, "Waiting for its Pod to be made").since(readyOf(s).LastTransitionTime.Time).because("%s", readyOf(s).Message)
	if event := s.latest(s.Sandbox, sandboxv1beta1.EventSandboxPodCreateFailed, sandboxv1beta1.EventSandboxReconcileFailed); event != nil {
		f = f.because("%s", event.Message)
	}
	return one(f.next(s.kubectl("describe sandbox %s", s.Sandbox.Name)))
}

// podTerminating explains a Pod that is on its way out. Its deletionTimestamp is when its grace period ends.
func podTerminating(s Seen, pod *corev1.Pod) []Finding {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	ends := pod.DeletionTimestamp.Time
	overdue := s.Now.Sub(ends) > patience
	switch {
	case len(pod.Finalizers) > 0 && overdue:
		return one(found(Stuck, FinalizerHolds, "Its Pod is being deleted, and a finalizer holds it").since(ends).
			because("metadata.finalizers of Pod %s has %s", pod.Name, strings.Join(pod.Finalizers, ", ")).
			next(s.kubectl("get pod %s -o yaml", pod.Name), s.kubectl("edit pod %s", pod.Name)))
	case overdue:
		return one(found(Stuck, NodeSilent, "Its Pod is being deleted, and its node does not confirm that it ended").since(ends).
			because("the grace period of Pod %s on node %s is over since %s", pod.Name, pod.Spec.NodeName, s.Now.Sub(ends).Round(time.Second)).
			next("kubectl get node "+pod.Spec.NodeName, s.kubectl("describe pod %s", pod.Name)))
	}
	return one(found(Waiting, PodTerminating, "Waiting for its Pod to end").because("Pod %s has %s left to end in order",
		pod.Name, max(0, ends.Sub(s.Now)).Round(time.Second)))
}

// podUnscheduled explains a Pod without a node.
func podUnscheduled(s Seen, pod *corev1.Pod) []Finding {
	if pod.Spec.NodeName != "" {
		return nil
	}
	scheduled := podCondition(pod, corev1.PodScheduled)
	if scheduled == nil {
		return schedulerSilent(s, pod)
	}
	began := scheduled.LastTransitionTime.Time
	if scheduled.Reason == corev1.PodReasonSchedulingGated {
		gates := make([]string, len(pod.Spec.SchedulingGates))
		for i, gate := range pod.Spec.SchedulingGates {
			gates[i] = gate.Name
		}
		return one(found(Stuck, Gated, "Its Pod waits behind a scheduling gate, which somebody else opens").since(began).
			because("spec.schedulingGates of Pod %s has %s", pod.Name, strings.Join(gates, ", ")).next(s.kubectl("get pod %s -o yaml", pod.Name)))
	}
	if findings := disks(s); len(findings) > 0 {
		return findings
	}
	return one(found(Stuck, Unschedulable, "No node takes its Pod").since(began).because("%s", scheduled.Message).
		next(s.kubectl("describe pod %s", pod.Name), "kubectl describe nodes"))
}

func schedulerSilent(s Seen, pod *corev1.Pod) []Finding {
	began := pod.CreationTimestamp.Time
	if s.Now.Sub(began) <= patience {
		return one(found(Waiting, SchedulerSilent, "Waiting for a node").since(began))
	}
	return one(found(Stuck, SchedulerSilent, "No scheduler has looked at its Pod").since(began).
		because("spec.schedulerName of Pod %s is %q", pod.Name, pod.Spec.SchedulerName).next("kubectl -n kube-system get pods"))
}

func podNotReady(s Seen, pod *corev1.Pod) []Finding {
	ready := podCondition(pod, corev1.PodReady)
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return nil
	}
	f := found(Waiting, ContainerStarting, "Waiting for its containers to start on node %s", pod.Spec.NodeName)
	if pod.Status.Phase == corev1.PodRunning {
		f = found(Waiting, ContainerStarting, "Waiting for its containers to be ready")
	}
	if ready != nil {
		f = f.because("%s", ready.Message).since(ready.LastTransitionTime.Time)
	}
	if event := s.latest(pod, "Unhealthy"); event != nil && s.started(pod) {
		f = found(Stuck, ProbeFails, "Its container runs, and its readiness probe fails").because("%s", event.Message).since(f.began()).
			next(s.plugin("logs %s", s.Sandbox.Name))
	}
	return one(f.next(s.kubectl("describe pod %s", pod.Name)))
}

// started reports whether the Pod has run for longer than one has patience with its first probes.
func (s Seen) started(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.Status.StartTime != nil && s.Now.Sub(pod.Status.StartTime.Time) > patience
}

// began is when it began; the zero time if that is not known.
func (f Finding) began() time.Time {
	if f.Since == nil {
		return time.Time{}
	}
	return *f.Since
}

func noAddress(s Seen, pod *corev1.Pod) []Finding {
	if len(pod.Status.PodIPs) > 0 {
		return nil
	}
	return one(found(Waiting, NoAddress, "Its Pod is ready and has no IP yet").next(s.kubectl("describe pod %s", pod.Name)))
}

func noService(s Seen, _ *corev1.Pod) []Finding {
	if s.Sandbox.Spec.Service == nil || !*s.Sandbox.Spec.Service || s.Sandbox.Status.Service != "" {
		return nil
	}
	return one(found(Waiting, ServiceMissing, "Its Pod is ready, and its Service does not exist yet").because("%s", readyOf(s).Message).
		next(s.kubectl("describe sandbox %s", s.Sandbox.Name)))
}
