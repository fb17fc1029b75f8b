package template

import (
	"strings"
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

// told is what the template was told of rules that the API server has refused.
func told(reason string, generation int64) func(*extensionsv1beta1.SandboxTemplate) {
	return func(t *extensionsv1beta1.SandboxTemplate) {
		t.Status.Conditions = []metav1.Condition{{
			Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: generation,
		}}
	}
}

func TestDecideAboutATemplate(t *testing.T) {
	const invalid, closedOff = extensionsv1beta1.ReasonNetworkPolicyInvalid, extensionsv1beta1.ReasonNetworkPolicyClosed
	shut := func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress, p.Spec.Egress = nil, nil }
	ownerless := func(p *networkingv1.NetworkPolicy) { p.OwnerReferences = nil }
	cases := map[string]struct {
		template *extensionsv1beta1.SandboxTemplate
		policy   *networkingv1.NetworkPolicy
		want     string
	}{
		"no policy: it is made (A2.2)":              {testTemplate(), nil, "create"},
		"as wanted: nothing is written":             {testTemplate(), standing(), ""},
		"rules that were edited are put right":      {testTemplate(), standing(func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = nil }), "change /spec"},
		"the template's rules are followed (A2.10)": {testTemplate(withRules(extensionsv1beta1.NetworkPolicySpec{})), standing(), "change /spec closed"},
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
		"unmanaged: ours goes":                        {testTemplate(unmanaged), standing(), "remove"},
		"unmanaged: that of others stays":             {testTemplate(unmanaged), standing(ownerless), ""},
		"unmanaged, and none is there":                {testTemplate(unmanaged), nil, ""},
		"rules that were refused are not tried again": {testTemplate(told(invalid, 2)), standing(), "blocked NetworkPolicyInvalid"},
		"what else was edited is put right": {
			testTemplate(told(invalid, 2)), standing(func(p *networkingv1.NetworkPolicy) { p.Labels = nil }), "blocked NetworkPolicyInvalid, change /metadata/labels",
		},
		"whom the former rules are for, too": {
			testTemplate(told(invalid, 2)), standing(func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels = nil }),
			"blocked NetworkPolicyInvalid, change /spec",
		},
		"without former rules a closed policy stands for them": {testTemplate(told(invalid, 2)), nil, "blocked NetworkPolicyClosed, create closed"},
		"once more when it was deleted":                        {testTemplate(told(closedOff, 2)), nil, "blocked NetworkPolicyClosed, create closed"},
		"which stays closed":                                   {testTemplate(told(closedOff, 2)), standing(shut), "blocked NetworkPolicyClosed"},
		"also when nobody has told so":                         {testTemplate(told(invalid, 2)), standing(shut), "blocked NetworkPolicyClosed"},
		"one that was opened is closed":                        {testTemplate(told(closedOff, 2)), standing(), "blocked NetworkPolicyClosed, change /spec closed"},
		"somebody else's is left alone all the same":           {testTemplate(told(closedOff, 2)), standing(ownerless), "blocked NetworkPolicyConflict"},
		"rules that were edited since they were refused are":   {testTemplate(told(invalid, 1)), nil, "create"},
		"and take the place of a closed policy":                {testTemplate(told(closedOff, 1)), standing(shut), "change /spec"},
		"the template gets its label":                          {testTemplate(func(t *extensionsv1beta1.SandboxTemplate) { t.Labels = nil }), standing(), "label"},
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
	var all []string
	if p.blocked != nil {
		all = append(all, "blocked "+p.blocked.reason)
	}
	if p.create != nil {
		all = append(all, "create"+isShut(p.create.Spec))
	}
	for _, operation := range p.change {
		what := "change " + operation.Path
		if spec, ok := operation.Value.(networkingv1.NetworkPolicySpec); ok {
			what += isShut(spec)
		}
		all = append(all, what)
	}
	if p.remove != nil {
		all = append(all, "remove")
	}
	if len(p.labels) > 0 {
		all = append(all, "label")
	}
	return strings.Join(all, ", ")
}

func isShut(spec networkingv1.NetworkPolicySpec) string {
	if len(spec.Ingress)+len(spec.Egress) > 0 {
		return ""
	}
	return " closed"
}
