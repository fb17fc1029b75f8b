package explain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Claim explains Seen.Claim, and the Sandbox that it has. There is one finding at least.
func Claim(seen Seen) []Finding {
	object := "claim/" + seen.Claim.Name
	findings := first(seen, claimDeleting, claimUnobserved, claimReady, claimByReason)
	if seen.Sandbox == nil {
		findings = append(findings, seen.unread()...)
	}
	return about(object, findings)
}

func claimDeleting(s Seen) []Finding { return s.deleting(s.Claim, "sandboxclaim") }

func claimUnobserved(s Seen) []Finding {
	return s.unobserved(s.Claim, claimReadyOf(s).ObservedGeneration)
}

func claimReadyOf(s Seen) metav1.Condition { return readyIn(s.Claim.Status.Conditions) }

func claimReady(s Seen) []Finding {
	ready := claimReadyOf(s)
	if ready.Status != metav1.ConditionTrue {
		return nil
	}
	findings := one(found(OK, AllWell, "It has Sandbox %s, which is ready", s.Claim.Status.Sandbox.Name).since(ready.LastTransitionTime.Time))
	return append(findings, cold(s)...)
}

// cold tells that the Sandbox was started for the claim, and why.
func cold(s Seen) []Finding {
	is := condition(s.Claim.Status.Conditions, extensionsv1beta1.ConditionColdStart)
	if is == nil || is.Status != metav1.ConditionTrue {
		return nil
	}
	f := found(Note, StartedCold, "Its Sandbox was started for it instead of taken from pool %s", s.Claim.Spec.WarmPoolRef.Name).because("%s", is.Message)
	switch is.Reason {
	case extensionsv1beta1.ReasonWarmPoolSizeZero, extensionsv1beta1.ReasonWarmPoolEmpty:
		f = f.next(s.plugin("doctor pool/%s", s.Claim.Spec.WarmPoolRef.Name), s.kubectl("scale sandboxwarmpool %s --replicas=N", s.Claim.Spec.WarmPoolRef.Name))
	}
	return one(f)
}

// claimByReason follows the reason of Ready: the claim's own ones, else those of its Sandbox.
func claimByReason(s Seen) []Finding {
	ready := claimReadyOf(s)
	name, pool := s.Claim.Name, s.Claim.Spec.WarmPoolRef.Name
	tell := func(severity Severity, cause Cause, what string) Finding {
		return found(severity, cause, "%s", what).because("%s", ready.Message).since(ready.LastTransitionTime.Time)
	}
	switch ready.Reason {
	case extensionsv1beta1.ReasonWarmPoolNotFound:
		return one(tell(Stuck, PoolMissing, fmt.Sprintf("Its pool %q does not exist", pool)).because("%s", choices(s.PoolNames)).
			next(s.plugin("pools"), s.kubectl("edit sandboxclaim %s", name)))
	case extensionsv1beta1.ReasonTemplateNotFound:
		return one(tell(Stuck, TemplateMissing, fmt.Sprintf("The template of its pool %q does not exist", pool)).
			because("%s; of templates, %s", ready.Message, choices(s.TemplateNames)).
			next(s.kubectl("get sandboxtemplates"), s.kubectl("edit sandboxwarmpool %s", pool)))
	case extensionsv1beta1.ReasonEnvVarsInjectionRejected, extensionsv1beta1.ReasonVolumeClaimTemplatesError, extensionsv1beta1.ReasonInvalidMetadata:
		return one(tell(Stuck, ClaimRefused, "It asks for what its template does not allow; nothing is tried until one of them changes").
			next(s.kubectl("edit sandboxclaim %s", name), s.kubectl("get sandboxtemplates -o yaml")))
	case extensionsv1beta1.ReasonClaimExpired:
		return one(tell(Note, Expired, "Its time is over, and its Sandbox is gone").next(s.plugin("extend claim/%s --for 1h", name)))
	case extensionsv1beta1.ReasonAdoptionConflict:
		return one(tell(Stuck, Conflict, "A Sandbox that it needs is somebody else's").next(s.kubectl("get sandbox %s -o yaml", name)))
	}
	if s.Sandbox != nil {
		return claimBySandbox(s)
	}
	return claimUnbound(s, tell)
}

// claimBySandbox explains a claim by its Sandbox, whose Ready it mirrors.
func claimBySandbox(s Seen) []Finding {
	findings := Sandbox(s)
	if Worst(findings).Severity == OK {
		return one(found(Waiting, ControllerBehind, "Its Sandbox is ready, and the claim does not say so yet").because("%s", claimReadyOf(s).Message))
	}
	return append(findings, cold(s)...)
}

func claimUnbound(s Seen, tell func(Severity, Cause, string) Finding) []Finding {
	ready := claimReadyOf(s)
	describe := s.kubectl("describe sandboxclaim %s", s.Claim.Name)
	switch ready.Reason {
	case extensionsv1beta1.ReasonSandboxCreatePending, extensionsv1beta1.ReasonSandboxNotReady, extensionsv1beta1.ReasonSandboxMissing:
		findings := one(tell(Waiting, NoSandboxYet, "Waiting for a Sandbox").next(describe))
		if s.Pool != nil {
			findings = append(findings, worrying(Pool(s.withoutMember()))...)
		}
		return findings
	case extensionsv1beta1.ReasonSandboxExpired:
		return one(tell(Note, Expired, "Its Sandbox expired by a time of its own").next(describe))
	case sandboxv1beta1.ReasonInvalidConfiguration:
		return one(tell(Stuck, InvalidSpec, "The API server finds its Sandbox invalid; nothing is tried until claim or template change").
			next(s.kubectl("edit sandboxclaim %s", s.Claim.Name), s.kubectl("get sandboxtemplates -o yaml")))
	case sandboxv1beta1.ReasonQuotaExceeded:
		return one(tell(Stuck, QuotaExceeded, "A quota of the namespace stands in the way").next(s.kubectl("describe quota,limitrange")))
	}
	return one(tell(Stuck, Refused, "Something was refused, or failed; it is tried again, at last once a minute").next(describe, extensionLogs))
}

// worrying keeps what is not well.
func worrying(findings []Finding) []Finding {
	var kept []Finding
	for _, f := range findings {
		if f.Severity == Stuck || f.Severity == Waiting {
			kept = append(kept, f)
		}
	}
	return kept
}

// withoutMember is for explaining the pool of a claim, whose Sandbox is no member.
func (s Seen) withoutMember() Seen {
	s.Sandbox, s.Pods, s.Foreign, s.Disks, s.Unread = nil, nil, nil, nil, nil
	return s
}

const extensionLogs = "kubectl -n agent-sandbox-system logs deployment/agent-sandbox-extensions-controller"
