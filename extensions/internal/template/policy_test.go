package template

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

func testTemplate(modify ...func(*extensionsv1beta1.SandboxTemplate)) *extensionsv1beta1.SandboxTemplate {
	t := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent", UID: "uid-agent", Generation: 2}}
	t.Labels = map[string]string{sandboxv1beta1.LabelTemplateRefHash: names.Hash("agent")}
	for _, change := range modify {
		change(t)
	}
	return t
}

func withRules(rules extensionsv1beta1.NetworkPolicySpec) func(*extensionsv1beta1.SandboxTemplate) {
	return func(t *extensionsv1beta1.SandboxTemplate) { t.Spec.NetworkPolicy = &rules }
}

func unmanaged(t *extensionsv1beta1.SandboxTemplate) {
	t.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
}

// A2.1, A2.4, A2.7: the router alone comes in, from its own namespace, and Pods reach public addresses alone.
func TestTheSecureDefault(t *testing.T) {
	policy := desiredPolicy(testTemplate(), "router-home")
	labels := map[string]string{sandboxv1beta1.LabelTemplateRefHash: names.Hash("agent"), sandboxv1beta1.LabelTemplateRef: names.Digest("agent")}
	want := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: labels},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "router-home"}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sandbox-router"}},
		}}}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{
				"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
			}}},
			{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: []string{"fc00::/7", "fe80::/10"}}},
		}}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
	}
	if diff := cmp.Diff(want, policy.Spec); diff != "" {
		t.Errorf("the rules (-want +got):\n%s", diff)
	}
	if policy.Name != "agent-network-policy" || policy.Namespace != "ns" || !metav1.IsControlledBy(policy, testTemplate()) {
		t.Errorf("the policy is %+v", policy.ObjectMeta)
	}
}

// A2.1: a name that is too long for its NetworkPolicy is no way to be without one.
func TestTheNameOfAPolicyIsNeverTooLong(t *testing.T) {
	long := strings.Repeat("a", 236) + ".b"
	cases := map[string]struct{ template, want string }{
		"short":    {"agent", "agent-network-policy"},
		"just so":  {long, long + "-network-policy"},
		"too long": {long + "c", strings.Repeat("a", 205) + "-" + names.Digest(long+"c") + "-network-policy"},
		"cut at a dot": {strings.Repeat("a", 204) + "." + strings.Repeat("b", 44),
			strings.Repeat("a", 204) + "-" + names.Digest(strings.Repeat("a", 204)+"."+strings.Repeat("b", 44)) + "-network-policy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := PolicyName(tc.template); got != tc.want || len(validation.IsDNS1123Subdomain(got)) > 0 {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A2.10: what the template says is what holds; a list that is empty denies, and so does one that is not there.
func TestRulesOfTheTemplateReplaceTheDefault(t *testing.T) {
	https := []networkingv1.NetworkPolicyPort{{Port: ptr.To(portOf(443))}}
	filled := []networkingv1.NetworkPolicyPort{{Port: ptr.To(portOf(443)), Protocol: ptr.To(corev1.ProtocolTCP)}}
	cases := map[string]struct {
		rules   extensionsv1beta1.NetworkPolicySpec
		ingress []networkingv1.NetworkPolicyIngressRule
		egress  []networkingv1.NetworkPolicyEgressRule
	}{
		"nothing": {},
		"empty lists": {extensionsv1beta1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{}, Egress: []networkingv1.NetworkPolicyEgressRule{}},
			[]networkingv1.NetworkPolicyIngressRule{}, []networkingv1.NetworkPolicyEgressRule{}},
		"a port as the API server stores it": {
			extensionsv1beta1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: https}}, Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: https}},
			},
			[]networkingv1.NetworkPolicyIngressRule{{Ports: filled}}, []networkingv1.NetworkPolicyEgressRule{{Ports: filled}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template := testTemplate(withRules(tc.rules))
			spec := desiredPolicy(template, "home").Spec
			if diff := cmp.Diff(tc.ingress, spec.Ingress); diff != "" {
				t.Errorf("ingress (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.egress, spec.Egress); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
			if len(spec.PolicyTypes) != 2 {
				t.Errorf("it is about %v", spec.PolicyTypes)
			}
			if diff := cmp.Diff(&tc.rules, template.Spec.NetworkPolicy); diff != "" {
				t.Errorf("the template was changed (-want +got):\n%s", diff)
			}
		})
	}
	if policy := desiredPolicy(testTemplate(unmanaged, withRules(extensionsv1beta1.NetworkPolicySpec{})), "home"); policy != nil {
		t.Errorf("an unmanaged template wants %v", policy)
	}
}

// A2.15: only what certainly keeps the router out is warned of.
func TestTheRouterIsLockedOut(t *testing.T) {
	labels := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	const home = "kubernetes.io/metadata.name"
	from := func(peers ...networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyIngressRule {
		return []networkingv1.NetworkPolicyIngressRule{{From: peers}}
	}
	udp := []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolUDP)}}
	cases := map[string]struct {
		ingress []networkingv1.NetworkPolicyIngressRule
		out     bool
	}{
		"no rule":                       {nil, true},
		"everybody":                     {[]networkingv1.NetworkPolicyIngressRule{{}}, false},
		"everybody on UDP alone":        {[]networkingv1.NetworkPolicyIngressRule{{Ports: udp}}, true},
		"everybody on UDP and TCP":      {[]networkingv1.NetworkPolicyIngressRule{{Ports: append(slices.Clone(udp), networkingv1.NetworkPolicyPort{})}}, false},
		"addresses":                     {from(networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}), false},
		"the Pods of the own namespace": {from(networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}), true},
		"the router":                    {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels(home, "home"), PodSelector: labels("app", "sandbox-router")}), false},
		"its namespace, whole":          {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels(home, "home")}), false},
		"every namespace":               {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}), false},
		"another namespace":             {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels(home, "other")}), true},
		"another app":                   {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels(home, "home"), PodSelector: labels("app", "other")}), true},
		"a label nobody knows":          {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels("team", "a"), PodSelector: labels("tier", "front")}), false},
		"one of several rules": {append(from(networkingv1.NetworkPolicyPeer{NamespaceSelector: labels(home, "other")}),
			networkingv1.NetworkPolicyIngressRule{}), false},
		"in a list":             {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression(home, metav1.LabelSelectorOpIn, "a", "home")}), false},
		"not in a list":         {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression(home, metav1.LabelSelectorOpIn, "a")}), true},
		"in a list of others":   {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression(home, metav1.LabelSelectorOpNotIn, "home")}), true},
		"who has the label":     {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression(home, metav1.LabelSelectorOpExists)}), false},
		"who lacks the label":   {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression(home, metav1.LabelSelectorOpDoesNotExist)}), true},
		"who lacks another one": {from(networkingv1.NetworkPolicyPeer{NamespaceSelector: expression("team", metav1.LabelSelectorOpDoesNotExist)}), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := desiredPolicy(testTemplate(withRules(extensionsv1beta1.NetworkPolicySpec{Ingress: tc.ingress})), "home")
			if out := isRouterLockedOut(policy, "home"); out != tc.out {
				t.Errorf("locked out: %v, want %v", out, tc.out)
			}
		})
	}
	policy := desiredPolicy(testTemplate(withRules(extensionsv1beta1.NetworkPolicySpec{
		Ingress: from(networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}),
	})), "ns")
	if isRouterLockedOut(policy, "ns") {
		t.Error("a router in the template's own namespace is locked out by a rule for that namespace")
	}
	if isRouterLockedOut(desiredPolicy(testTemplate(), "home"), "home") {
		t.Error("the secure default locks the router out")
	}
}
