package template

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

// Who the router is: the secure default admits nobody else.
const (
	routerLabel = "app"
	routerValue = "sandbox-router"
)

const (
	policySuffix = "-network-policy"
	// longestName is that of any object of Kubernetes.
	longestName = 253
)

// PolicyName is the name of the NetworkPolicy of a template. Where the template's own is too long for it, the beginning of that stands
// before its digest.
func PolicyName(template string) string {
	if len(template)+len(policySuffix) <= longestName {
		return template + policySuffix
	}
	tail := "-" + names.Digest(template) + policySuffix
	return strings.TrimRight(template[:longestName-len(tail)], "-.") + tail
}

// privateIPv4 are the addresses that the secure default lets nobody reach: private networks, where clusters and clouds have
// what is theirs, link-local addresses, where clouds tell nodes their credentials, and those of carriers.
func privateIPv4() []string {
	return []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"}
}

func privateIPv6() []string { return []string{"fc00::/7", "fe80::/10"} }

// desiredPolicy is the policy that a template wants; nil without one. The router stands in that namespace.
func desiredPolicy(template *extensionsv1beta1.SandboxTemplate, routerNamespace string) *networkingv1.NetworkPolicy {
	if template.Spec.NetworkPolicyManagement == extensionsv1beta1.NetworkPolicyUnmanaged {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: template.Namespace, Name: PolicyName(template.Name), Labels: blueprint.TemplateLabels(template.Name),
			OwnerReferences: []metav1.OwnerReference{ownerReference(template)},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: blueprint.TemplateLabels(template.Name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
	if rules := template.Spec.NetworkPolicy; rules != nil {
		custom := rules.DeepCopy()
		policy.Spec.Ingress, policy.Spec.Egress = custom.Ingress, custom.Egress
		fillProtocols(&policy.Spec)
		return policy
	}
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: routerNamespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{routerLabel: routerValue}},
	}}}}
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
		{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: privateIPv4()}},
		{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: privateIPv6()}},
	}}}
	return policy
}

// closed is a policy that lets nothing in or out, in the place of one that the API server refuses.
func closed(refused *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	policy := refused.DeepCopy()
	policy.Spec.Ingress, policy.Spec.Egress = nil, nil
	return policy
}

func ownerReference(template *extensionsv1beta1.SandboxTemplate) metav1.OwnerReference {
	return *metav1.NewControllerRef(template, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxTemplateKind))
}

// fillProtocols does what the API server does, so that a stored policy can be compared with a wanted one.
func fillProtocols(spec *networkingv1.NetworkPolicySpec) {
	for i := range spec.Ingress {
		fillPorts(spec.Ingress[i].Ports)
	}
	for i := range spec.Egress {
		fillPorts(spec.Egress[i].Ports)
	}
}

func fillPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = ptr.To(corev1.ProtocolTCP)
		}
	}
}
