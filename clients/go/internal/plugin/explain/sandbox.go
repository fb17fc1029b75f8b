package explain

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// Sandbox explains Seen.Sandbox. There is one finding at least.
func Sandbox(seen Seen) []Finding {
	findings := first(seen, sandboxDeleting, sandboxUnobserved, sandboxReady, sandboxByReason)
	findings = append(findings, seen.unread()...)
	return about("sandbox/"+seen.Sandbox.Name, findings)
}

func sandboxDeleting(s Seen) []Finding {
	findings := s.deleting(s.Sandbox, "sandbox")
	if len(findings) > 0 && findings[0].Cause == BeingDeleted && len(s.Pods) > 0 {
		return podTerminating(s, &s.Pods[0])
	}
	return findings
}

func sandboxUnobserved(s Seen) []Finding {
	return s.unobserved(s.Sandbox, readyOf(s).ObservedGeneration)
}

func readyOf(s Seen) metav1.Condition { return readyIn(s.Sandbox.Status.Conditions) }

// readyIn returns the condition Ready that Sandboxes and claims have, and one that is Unknown and of no generation where nobody has set it.
func readyIn(conditions []metav1.Condition) metav1.Condition {
	if ready := condition(conditions, sandboxv1beta1.ConditionReady); ready != nil {
		return *ready
	}
	return metav1.Condition{Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionUnknown}
}

func sandboxReady(s Seen) []Finding {
	ready := readyOf(s)
	if ready.Status != metav1.ConditionTrue {
		return nil
	}
	findings := one(found(OK, AllWell, "It is ready").since(ready.LastTransitionTime.Time))
	if drift := condition(s.Sandbox.Status.Conditions, sandboxv1beta1.ConditionPodTemplateDrifted); drift != nil && drift.Status == metav1.ConditionTrue {
		findings = append(findings, found(Note, TemplateDrifted, "podTemplate.spec was edited, and the running Pod is as it was before").
			because("%s", drift.Message).since(drift.LastTransitionTime.Time).next(s.restart()...))
	}
	return findings
}

// sandboxByReason follows the reason of Ready.
func sandboxByReason(s Seen) []Finding {
	ready := readyOf(s)
	name := s.Sandbox.Name
	tell := func(severity Severity, cause Cause, what string) Finding {
		return found(severity, cause, "%s", what).because("%s", ready.Message).since(ready.LastTransitionTime.Time)
	}
	edit := s.kubectl("edit sandbox %s", name)
	switch ready.Reason {
	case sandboxv1beta1.ReasonSandboxSuspended:
		return suspended(s)
	case sandboxv1beta1.ReasonSandboxExpired:
		return one(expired(s, tell))
	case sandboxv1beta1.ReasonPodSucceeded, sandboxv1beta1.ReasonPodFailed:
		return ended(s)
	case sandboxv1beta1.ReasonMultiplePods:
		return one(tell(Stuck, SeveralPods, "It controls several Pods, and does not choose among them").
			next(s.kubectl("get pods -l %s=%s", sandboxv1beta1.LabelSandboxUID, s.Sandbox.UID), s.kubectl("delete pod THE-ONE-NOT-WANTED")))
	case sandboxv1beta1.ReasonInvalidConfiguration:
		return one(tell(Stuck, InvalidSpec, "The API server finds its Pod, a disk or its Service invalid; nothing is tried until the spec changes").next(edit))
	case sandboxv1beta1.ReasonQuotaExceeded:
		return one(tell(Stuck, QuotaExceeded, "A ResourceQuota or LimitRange of the namespace stands in the way").
			next(s.kubectl("describe quota,limitrange")))
	case sandboxv1beta1.ReasonRuntimeClassNotFound:
		return one(tell(Stuck, RuntimeClassMissing, "Its RuntimeClass does not exist").next("kubectl get runtimeclass", edit))
	case sandboxv1beta1.ReasonReconcilerError:
		return one(refused(s, tell))
	}
	return first(s, recreating, podByState, unexplained)
}

// restart are the commands that have a change of the spec take effect.
func (s Seen) restart() []string {
	return []string{s.plugin("suspend %s", s.Sandbox.Name), s.plugin("resume %s", s.Sandbox.Name)}
}

func suspended(s Seen) []Finding {
	is := condition(s.Sandbox.Status.Conditions, sandboxv1beta1.ConditionSuspended)
	resume := s.plugin("resume %s", s.Sandbox.Name)
	switch {
	case is == nil:
		return one(found(Note, Suspended, "It is suspended").next(resume))
	case is.Reason == sandboxv1beta1.ReasonPodNotOwned:
		return one(foreign(s, is.Message).since(is.LastTransitionTime.Time))
	case is.Status == metav1.ConditionTrue:
		return one(found(Note, Suspended, "It is suspended: there is no Pod, and its disks are kept").since(is.LastTransitionTime.Time).next(resume))
	case len(s.Pods) > 0:
		return podTerminating(s, &s.Pods[0])
	}
	return one(found(Waiting, PodTerminating, "Waiting for its Pod to end").because("%s", is.Message))
}

// foreign tells of a Pod in the way that is somebody else's.
func foreign(s Seen, why string) Finding {
	f := found(Stuck, NotOwned, "A Pod of its name is somebody else's, and is left alone").because("%s", why)
	if s.Foreign == nil {
		return f.next(s.kubectl("get pod %s -o yaml", s.Sandbox.Name))
	}
	owner := "nobody"
	if controller := metav1.GetControllerOf(s.Foreign); controller != nil {
		owner = controller.Kind + " " + controller.Name
	}
	return f.because("%s: Pod %s is controlled by %s", why, s.Foreign.Name, owner).
		next(s.kubectl("get pod %s -o yaml", s.Foreign.Name), s.kubectl("delete pod %s", s.Foreign.Name))
}

func expired(s Seen, tell func(Severity, Cause, string) Finding) Finding {
	f := tell(Note, Expired, "Its shutdownTime has come: Pod and Service are gone, its disks are kept")
	if at := s.Sandbox.Spec.ShutdownTime; at != nil {
		f = f.because("spec.shutdownTime is %s", at.UTC().Format(time.RFC3339))
	}
	return f.next(s.plugin("extend sandbox/%s --for 1h", s.Sandbox.Name))
}

func ended(s Seen) []Finding {
	finished := condition(s.Sandbox.Status.Conditions, sandboxv1beta1.ConditionFinished)
	if finished == nil {
		ready := readyOf(s)
		finished = &ready
	}
	commands := []string{s.plugin("logs %s", s.Sandbox.Name)}
	if len(s.Pods) == 0 {
		commands = nil
	}
	f := found(Note, Ended, "Its Pod did its work and ended; it is not run again by itself")
	if finished.Reason == sandboxv1beta1.ReasonPodFailed {
		f = found(Stuck, Ended, "Its Pod failed, and is not run again by itself")
	}
	return one(f.because("%s", finished.Message).since(finished.LastTransitionTime.Time).next(append(commands, s.restart()...)...))
}

// refused tells of a request that the API server refused, or that failed. Who refused is known from the message alone: the API server
// gives no reason of its own for Pod Security.
func refused(s Seen, tell func(Severity, Cause, string) Finding) Finding {
	if s.Foreign != nil {
		return foreign(s, readyOf(s).Message)
	}
	if strings.Contains(readyOf(s).Message, "violates PodSecurity") {
		return tell(Stuck, PodSecurity, "The namespace enforces Pod Security at a level that its Pod does not meet").
			next("kubectl get namespace "+s.Namespace+" --show-labels", s.kubectl("edit sandbox %s", s.Sandbox.Name))
	}
	return tell(Stuck, Refused, "Something was refused, or failed; it is tried again, at last once a minute").
		next(s.kubectl("describe sandbox %s", s.Sandbox.Name), logs)
}

func recreating(s Seen) []Finding {
	is := condition(s.Sandbox.Status.Conditions, sandboxv1beta1.ConditionPodRecreating)
	if is == nil || is.Status != metav1.ConditionTrue {
		return nil
	}
	return one(found(Waiting, BackingOff, "Its Pod failed, and the pause before the next one is not over").
		because("%s", is.Message).since(is.LastTransitionTime.Time).next(s.plugin("logs %s", s.Sandbox.Name)))
}

// unexplained passes on what the controller says.
func unexplained(s Seen) []Finding {
	ready := readyOf(s)
	return one(found(Waiting, Unexplained, "It is not ready: %s", ready.Message).
		because("condition Ready is %s, reason %s", ready.Status, ready.Reason).since(ready.LastTransitionTime.Time).
		next(s.kubectl("describe sandbox %s", s.Sandbox.Name)))
}
