package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Template explains Seen.Template. There is one finding at least.
func Template(seen Seen) []Finding {
	findings := first(seen, templateDeleting, templateUnobserved, templatePolicy)
	findings = append(findings, templateRouter(seen)...)
	return about("template/"+seen.Template.Name, append(findings, seen.unread()...))
}

func templateDeleting(s Seen) []Finding { return s.deleting(s.Template, "sandboxtemplate") }

func templateUnobserved(s Seen) []Finding {
	ready := condition(s.Template.Status.Conditions, extensionsv1beta1.ConditionReady)
	if ready == nil {
		return s.unobserved(s.Template, 0)
	}
	return s.unobserved(s.Template, ready.ObservedGeneration)
}

// templatePolicy follows Ready, which is about the NetworkPolicy. It comes behind templateUnobserved: there is one.
func templatePolicy(s Seen) []Finding {
	ready := condition(s.Template.Status.Conditions, extensionsv1beta1.ConditionReady)
	if ready.Status == metav1.ConditionTrue {
		return one(found(OK, AllWell, "Its NetworkPolicy is as it wants it").because("%s", ready.Message))
	}
	policy := s.Template.Name + "-network-policy"
	f := found(Stuck, NetworkPolicy, "Its NetworkPolicy is not as it wants it").because("%s", ready.Message).since(ready.LastTransitionTime.Time)
	switch ready.Reason {
	case extensionsv1beta1.ReasonNetworkPolicyConflict, extensionsv1beta1.ReasonNetworkPolicyTerminating:
		return one(f.next(s.kubectl("get networkpolicy %s -o yaml", policy)))
	case extensionsv1beta1.ReasonNetworkPolicyInvalid, extensionsv1beta1.ReasonNetworkPolicyClosed:
		return one(f.next(s.kubectl("edit sandboxtemplate %s", s.Template.Name)))
	}
	return one(f.next(s.kubectl("describe sandboxtemplate %s", s.Template.Name), extensionLogs))
}

func templateRouter(s Seen) []Finding {
	is := condition(s.Template.Status.Conditions, extensionsv1beta1.ConditionRouterReachable)
	if is == nil || is.Status != metav1.ConditionFalse {
		return nil
	}
	return one(found(Note, RouterLockedOut, "No rule of its NetworkPolicy lets the router in").because("%s", is.Message).
		since(is.LastTransitionTime.Time).next(s.kubectl("edit sandboxtemplate %s", s.Template.Name)))
}
