package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

const policyName = "agent-network-policy"

func (w world) policy() *networkingv1.NetworkPolicy {
	w.t.Helper()
	policy := &networkingv1.NetworkPolicy{}
	found, err := consistency.Find(context.Background(), w.user, types.NamespacedName{Namespace: w.namespace, Name: policyName}, policy)
	w.must("reading the policy", err)
	if !found {
		return nil
	}
	return policy
}

func (w world) storedTemplate() *extensionsv1beta1.SandboxTemplate {
	w.t.Helper()
	template := &extensionsv1beta1.SandboxTemplate{}
	w.must("reading the template", w.user.Get(context.Background(), types.NamespacedName{Namespace: w.namespace, Name: "agent"}, template))
	return template
}

func (w world) editTemplate(change func(*extensionsv1beta1.SandboxTemplateSpec)) {
	w.t.Helper()
	template := w.storedTemplate()
	before := template.DeepCopy()
	change(&template.Spec)
	w.must("editing the template", w.user.Patch(context.Background(), template, client.MergeFrom(before)))
}

func (w world) editPolicy(change func(*networkingv1.NetworkPolicy)) {
	w.t.Helper()
	policy := w.policy()
	before := policy.DeepCopy()
	change(policy)
	w.must("editing the policy", w.user.Patch(context.Background(), policy, client.MergeFrom(before)))
}

// awaitReason wants a condition of the template, for its present generation.
func (w world) awaitReason(condition, reason string) {
	w.t.Helper()
	testkit.Eventually(w.t, condition+" says "+reason, func() error {
		template := w.storedTemplate()
		found := meta.FindStatusCondition(template.Status.Conditions, condition)
		if found == nil || found.Reason != reason || found.ObservedGeneration != template.Generation {
			return fmt.Errorf("generation %d, conditions %+v", template.Generation, template.Status.Conditions)
		}
		return nil
	})
}

func (w world) awaitPolicy(what string, ok func(*networkingv1.NetworkPolicy) bool) {
	w.t.Helper()
	testkit.Eventually(w.t, what, func() error {
		if policy := w.policy(); !ok(policy) {
			return fmt.Errorf("the policy is %+v", policy)
		}
		return nil
	})
}

func templateWorld(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	w.startControllers(testSettings())
	return w
}

// A2.1, A2.2, A2.10: one policy, kept in step with its template and put right when somebody edits it; the template has the label
// that its Pods are selected by.
func TestATemplateHasOnePolicy(t *testing.T) {
	w := templateWorld(t)
	w.template("agent")
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyApplied)
	if label := w.storedTemplate().Labels[sandboxv1beta1.LabelTemplateRefHash]; label != names.Hash("agent") {
		t.Errorf("the template's label is %q", label)
	}
	wanted := w.policy()
	if wanted == nil || len(wanted.Spec.Egress) != 1 || len(wanted.Spec.Ingress) != 1 {
		t.Fatalf("the policy is %+v", wanted)
	}
	asWanted := func(p *networkingv1.NetworkPolicy) bool {
		return p != nil && equality.Semantic.DeepEqual(p.Spec, wanted.Spec) && equality.Semantic.DeepEqual(p.Labels, wanted.Labels)
	}
	w.editPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}} })
	w.awaitPolicy("the rules are put right", asWanted)
	w.editPolicy(func(p *networkingv1.NetworkPolicy) { p.Labels = nil })
	w.awaitPolicy("the labels are put right", asWanted)
	w.must("deleting the policy", w.user.Delete(context.Background(), w.policy()))
	w.awaitPolicy("the policy comes back", func(p *networkingv1.NetworkPolicy) bool { return asWanted(p) && p.UID != wanted.UID })

	w.editTemplate(func(s *extensionsv1beta1.SandboxTemplateSpec) {
		s.NetworkPolicy = &extensionsv1beta1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{}}
	})
	w.awaitPolicy("an empty list denies", func(p *networkingv1.NetworkPolicy) bool {
		return len(p.Spec.Ingress) == 0 && len(p.Spec.Egress) == 0 && len(p.Spec.PolicyTypes) == 2
	})
	w.editTemplate(func(s *extensionsv1beta1.SandboxTemplateSpec) {
		s.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
	})
	w.awaitPolicy("there is none once it is unmanaged", func(p *networkingv1.NetworkPolicy) bool { return p == nil })
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyUnmanaged)
	if meta.FindStatusCondition(w.storedTemplate().Status.Conditions, extensionsv1beta1.ConditionRouterReachable) != nil {
		t.Error("an unmanaged template says whether the router is let in")
	}
}

// A2.5: a policy of that name which is somebody else's is left alone, and told; once it is gone, ours is made.
func TestAForeignPolicyIsLeftAlone(t *testing.T) {
	w := templateWorld(t)
	foreign := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: policyName}}
	w.create(foreign)
	w.template("agent")
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyConflict)
	w.awaitEvent(corev1.EventTypeWarning, extensionsv1beta1.ReasonNetworkPolicyConflict, policyName)
	if now := w.policy(); now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("it was touched: %+v", now)
	}
	w.must("deleting the foreign policy", w.user.Delete(context.Background(), foreign))
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyApplied)
	w.awaitPolicy("ours is made", func(p *networkingv1.NetworkPolicy) bool { return p != nil && p.UID != foreign.UID })
}

// A2.15: rules without ingress keep the router out, which is warned of.
func TestAPolicyThatLocksTheRouterOutIsWarnedOf(t *testing.T) {
	w := templateWorld(t)
	w.template("agent", func(s *extensionsv1beta1.SandboxTemplate) {
		s.Spec.NetworkPolicy = &extensionsv1beta1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}
	})
	w.awaitReason(extensionsv1beta1.ConditionRouterReachable, extensionsv1beta1.ReasonRouterLockedOut)
	w.awaitEvent(corev1.EventTypeWarning, extensionsv1beta1.ReasonRouterLockedOut, "router-home")
	w.editTemplate(func(s *extensionsv1beta1.SandboxTemplateSpec) {
		s.NetworkPolicy.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
	})
	w.awaitReason(extensionsv1beta1.ConditionRouterReachable, extensionsv1beta1.ReasonRouterAdmitted)
}

// Rules that the API server refuses are told, and not tried again before the template changes. A policy that lets nothing in or out
// stands for them.
func TestRulesThatAreRefusedAreTold(t *testing.T) {
	w := templateWorld(t)
	w.template("agent", func(s *extensionsv1beta1.SandboxTemplate) {
		s.Spec.NetworkPolicy = &extensionsv1beta1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/99"}}},
		}}}
	})
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyClosed)
	if message := meta.FindStatusCondition(w.storedTemplate().Status.Conditions, extensionsv1beta1.ConditionReady).Message; !strings.Contains(message, "10.0.0.0/99") {
		t.Errorf("the message is %q", message)
	}
	shut := func(p *networkingv1.NetworkPolicy) bool {
		return p != nil && len(p.Spec.Ingress)+len(p.Spec.Egress) == 0 && len(p.Spec.PolicyTypes) == 2
	}
	w.awaitPolicy("nothing goes in or out", shut)
	w.editPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}} })
	w.awaitPolicy("what somebody opens is closed again", shut)
	testkit.Throughout(t, time.Second, "each is tried once", func() error {
		if tries := w.writes.Counts()["POST networkpolicies"]; tries != 2 {
			return fmt.Errorf("%d tries: %v", tries, w.writes.Counts())
		}
		return nil
	})
	w.editTemplate(func(s *extensionsv1beta1.SandboxTemplateSpec) { s.NetworkPolicy = nil })
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyApplied)
	w.awaitPolicy("the secure default holds", func(p *networkingv1.NetworkPolicy) bool { return len(p.Spec.Ingress) == 1 && len(p.Spec.Egress) == 1 })
}

// Where rules held before, they go on to hold, and what is edited beside them is put right.
func TestFormerRulesHoldWhileOthersAreRefused(t *testing.T) {
	w := templateWorld(t)
	w.template("agent")
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyApplied)
	former := w.policy()
	w.editTemplate(func(s *extensionsv1beta1.SandboxTemplateSpec) {
		s.NetworkPolicy = &extensionsv1beta1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/99"}}},
		}}}
	})
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyInvalid)
	w.editPolicy(func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels, p.Labels = nil, nil })
	w.awaitPolicy("the former rules hold, for the Pods of the template", func(p *networkingv1.NetworkPolicy) bool {
		return equality.Semantic.DeepEqual(p.Spec, former.Spec) && equality.Semantic.DeepEqual(p.Labels, former.Labels)
	})
	w.must("deleting the policy", w.user.Delete(context.Background(), former))
	w.awaitReason(extensionsv1beta1.ConditionReady, extensionsv1beta1.ReasonNetworkPolicyClosed)
	w.awaitPolicy("with the former rules gone nothing goes in or out", func(p *networkingv1.NetworkPolicy) bool {
		return p != nil && len(p.Spec.Ingress)+len(p.Spec.Egress) == 0
	})
}

func (w world) awaitEvent(kind, reason, mention string) {
	w.t.Helper()
	testkit.Eventually(w.t, "an Event "+reason, func() error {
		var all eventsv1.EventList
		w.must("listing Events", w.user.List(context.Background(), &all, client.InNamespace(w.namespace)))
		for i := range all.Items {
			if e := &all.Items[i]; e.Type == kind && e.Reason == reason && strings.Contains(e.Note, mention) {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(all.Items))
	})
}

// A2.1: a template of the longest name that there may be has its NetworkPolicy.
func TestATemplateOfALongNameHasItsPolicy(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	name := strings.Repeat("a", 253)
	w.template(name)
	testkit.Eventually(t, "it has its NetworkPolicy", func() error {
		var policies networkingv1.NetworkPolicyList
		w.must("listing policies", w.user.List(context.Background(), &policies, client.InNamespace(w.namespace)))
		if len(policies.Items) != 1 || policies.Items[0].Spec.PodSelector.MatchLabels[sandboxv1beta1.LabelTemplateRef] != names.Digest(name) {
			return fmt.Errorf("%s", asJSON(policies.Items))
		}
		return nil
	})
}
