package template

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// isRouterLockedOut says whether no rule can admit the router, which stands in that namespace. What nobody can tell from the
// policy alone, as labels of the namespace or addresses, counts in its favour: a warning is only for what is certain.
func isRouterLockedOut(policy *networkingv1.NetworkPolicy, routerNamespace string) bool {
	return !slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return mayUseTCP(rule.Ports) && (len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
			return mayBeRouter(peer, policy.Namespace, routerNamespace)
		}))
	})
}

func mayUseTCP(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		return ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP
	})
}

func mayBeRouter(peer networkingv1.NetworkPolicyPeer, namespace, routerNamespace string) bool {
	if peer.IPBlock != nil {
		return true
	}
	if peer.NamespaceSelector == nil {
		if namespace != routerNamespace {
			return false
		}
	} else if !mayMatch(peer.NamespaceSelector, corev1.LabelMetadataName, routerNamespace) {
		return false
	}
	return peer.PodSelector == nil || mayMatch(peer.PodSelector, routerLabel, routerValue)
}

// mayMatch says whether a selector can match labels of which one is known.
func mayMatch(selector *metav1.LabelSelector, key, value string) bool {
	if wanted, ok := selector.MatchLabels[key]; ok && wanted != value {
		return false
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		if r.Key != key {
			return false
		}
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			return !slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpNotIn:
			return slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpDoesNotExist:
			return true
		default:
			return false
		}
	})
}
