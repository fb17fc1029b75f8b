package template

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func portOf(number int) intstr.IntOrString { return intstr.FromInt(number) }

// standing is the policy as the template wants it.
func standing(modify ...func(*networkingv1.NetworkPolicy)) *networkingv1.NetworkPolicy {
	policy := desiredPolicy(testTemplate(), "home")
	policy.UID, policy.ResourceVersion = "uid-policy", "7"
	for _, change := range modify {
		change(policy)
	}
	return policy
}

func toldInvalid(generation int64) func(*extensionsv1beta1.SandboxTemplate) {
	return func(t *extensionsv1beta1.SandboxTemplate) {
		t.Status.Conditions = []metav1.Condition{{
			Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: extensionsv1beta1.ReasonNetworkPolicyInvalid,
			ObservedGeneration: generation,
		}}
	}
}

func TestDecideAboutATemplate(t *testing.T) {
	ownerless := func(p *networkingv1.NetworkPolicy) { p.OwnerReferences = nil }
	cases := map[string]struct {
		template *extensionsv1beta1.SandboxTemplate
		policy   *networkingv1.NetworkPolicy
		want     string
	}{
		"no policy: it is made (A2.2)":              {testTemplate(), nil, "create"},
		"as wanted: nothing is written":             {testTemplate(), standing(), ""},
		"rules that were edited are put right":      {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = nil }), "change /spec"},
		"the template's rules are followed (A2.10)": {testTemplate(withRules(extensionsv1beta1.NetworkPolicySpec{})), standing(), "change /spec"},
		"labels that were taken off come back":      {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.Labels = nil }), "change /metadata/labels"},
		"labels of others stay":                     {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.Labels["team"] = "a" }), ""},
		"that of an earlier template is taken over": {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.OwnerReferences[0].UID = "uid-earlier" }), "change /metadata/ownerReferences"},
		"that of another template is left alone":    {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.OwnerReferences[0].Name = "other" }), "blocked NetworkPolicyConflict"},
		"one of nobody's is left alone (A2.5)":      {testTemplate(), standing(ownerless), "blocked NetworkPolicyConflict"},
		"one of another kind is left alone": {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) {
			p.OwnerReferences[0].Kind = "SandboxWarmPool"
		}), "blocked NetworkPolicyConflict"},
		"one that goes is waited for": {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) {
			p.DeletionTimestamp = &metav1.Time{}
		}), "blocked NetworkPolicyTerminating"},
		"unmanaged: ours goes":                               {testTemplate(unmanaged), standing(), "remove"},
		"unmanaged: that of others stays":                    {testTemplate(unmanaged), standing(ownerless), ""},
		"unmanaged, and none is there":                       {testTemplate(unmanaged), nil, ""},
		"rules that were refused are not tried again":        {testTemplate(toldInvalid(2)), standing(), "blocked NetworkPolicyInvalid"},
		"and a closed policy stands for them":                {testTemplate(toldInvalid(2)), nil, "create closed"},
		"rules that were edited since they were refused are": {testTemplate(toldInvalid(1)), nil, "create"},
		"the template gets its label":                        {testTemplate(func(t *extensionsv1beta1.SandboxTemplate) { t.Labels = nil }), standing(), "label"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := decide(seen{template: tc.template, policy: tc.policy, routerNamespace: "home"})
			if got := describe(p); got != tc.want {
				t.Errorf("decided to %q, want %q", got, tc.want)
			}
		})
	}
}

func describe(p plan) string {
	switch {
	case p.create != nil && len(p.create.Spec.Ingress)+len(p.create.Spec.Egress) == 0:
		return "create closed"
	case p.create != nil:
		return "create"
	case p.blocked != nil:
		return "blocked " + p.blocked.reason
	case len(p.change) > 0:
		return "change " + p.change[0].Path
	case p.remove != nil:
		return "remove"
	case len(p.labels) > 0:
		return "label"
	}
	return ""
}
