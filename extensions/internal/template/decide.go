package template

import (
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// seen is what one pass knows.
type seen struct {
	now      time.Time
	template *extensionsv1beta1.SandboxTemplate
	// policy is the NetworkPolicy of the template's name; nil without one.
	policy *networkingv1.NetworkPolicy
	// routerNamespace is where the router stands.
	routerNamespace string
}

// refused is what there is to tell of the template's rules, if the API server has refused them as they are. The template's status
// remembers that none held before: what is edited in a policy cannot.
func (s seen) refused() *problem {
	ready := meta.FindStatusCondition(s.template.Status.Conditions, extensionsv1beta1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != s.template.Generation {
		return nil
	}
	switch ready.Reason {
	case extensionsv1beta1.ReasonNetworkPolicyInvalid:
		return &problem{refusal(s.policy), ready.Message}
	case extensionsv1beta1.ReasonNetworkPolicyClosed:
		return &problem{ready.Reason, ready.Message}
	default:
		return nil
	}
}

// refusal is the reason to tell where rules are refused: whether others hold in their place.
func refusal(stands *networkingv1.NetworkPolicy) string {
	if stands == nil || len(stands.Spec.Ingress)+len(stands.Spec.Egress) == 0 {
		return extensionsv1beta1.ReasonNetworkPolicyClosed
	}
	return extensionsv1beta1.ReasonNetworkPolicyInvalid
}

// inForce is what there is to be of a policy, by the reason that the template is told: all of it; where the API server refuses it, with
// the rules that stand, whatever they are, or with none.
func inForce(wanted, stands *networkingv1.NetworkPolicy, reason string) *networkingv1.NetworkPolicy {
	if reason != extensionsv1beta1.ReasonNetworkPolicyInvalid && reason != extensionsv1beta1.ReasonNetworkPolicyClosed {
		return wanted
	}
	policy := closed(wanted)
	if reason == extensionsv1beta1.ReasonNetworkPolicyInvalid && stands != nil {
		policy.Spec.Ingress, policy.Spec.Egress = stands.Spec.Ingress, stands.Spec.Egress
	}
	return policy
}

// plan is all that one pass writes besides the status. Nil and empty mean no such write.
type plan struct {
	// labels are set on the template.
	labels map[string]*string
	// create is the policy to make.
	create *networkingv1.NetworkPolicy
	// change turns the policy that stands into the wanted one.
	change []apply.Operation
	// remove is the policy to delete, as it was seen.
	remove *networkingv1.NetworkPolicy
	// blocked says what keeps the wanted policy from being there.
	blocked *problem
}

// problem is why the policy is not as the template wants it.
type problem struct{ reason, message string }

func (p problem) Error() string { return p.message }

// decide returns what is to be done about a template that is not being deleted.
func decide(s seen) plan {
	p := plan{labels: apply.Changes(s.template.Labels, ownLabels(s.template.Name))}
	wanted := desiredPolicy(s.template, s.routerNamespace)
	if refused := s.refused(); wanted != nil && refused != nil {
		p.blocked, wanted = refused, inForce(wanted, s.policy, refused.reason)
	}
	switch {
	case s.policy == nil:
		p.create = wanted
	case wanted == nil && isOurs(s):
		p.remove = s.policy
	case wanted == nil:
	case s.policy.DeletionTimestamp != nil:
		p.blocked = &problem{extensionsv1beta1.ReasonNetworkPolicyTerminating, fmt.Sprintf("NetworkPolicy %q is being deleted", s.policy.Name)}
	case !isOurs(s):
		p.blocked = &problem{extensionsv1beta1.ReasonNetworkPolicyConflict, fmt.Sprintf(
			"NetworkPolicy %q exists and is not this template's: delete it, rename the template, or set networkPolicyManagement: Unmanaged", s.policy.Name)}
	default:
		p.change = changes(s.policy, wanted)
	}
	return p
}

// ownLabels are those that a template itself carries.
func ownLabels(template string) map[string]string {
	return map[string]string{sandboxv1beta1.LabelTemplateRefHash: names.Hash(template)}
}

// isOurs says whether the policy is the template's, or that of an earlier template of its name: while the garbage collector gets
// round to that one, Pods are not to be without it.
func isOurs(s seen) bool {
	owner, ok := ownership.ControllerOf(s.policy, index.TemplateKind())
	return ok && owner.Name == s.template.Name
}

// changes repair what somebody else has made of the policy, and follow the template. Labels that are not ours stay.
func changes(stands, wanted *networkingv1.NetworkPolicy) []apply.Operation {
	var all []apply.Operation
	if !equality.Semantic.DeepEqual(stands.Spec, wanted.Spec) {
		all = append(all, apply.Replace("/spec", wanted.Spec))
	}
	if owner := metav1.GetControllerOfNoCopy(stands); owner == nil || owner.UID != wanted.OwnerReferences[0].UID {
		all = append(all, apply.Replace("/metadata/ownerReferences", wanted.OwnerReferences))
	}
	if len(apply.Changes(stands.Labels, wanted.Labels)) > 0 {
		if stands.Labels == nil {
			return append(all, apply.Set("/metadata/labels", wanted.Labels))
		}
		for key, value := range wanted.Labels {
			all = append(all, apply.Set(apply.Key("/metadata/labels", key), value))
		}
	}
	return all
}
