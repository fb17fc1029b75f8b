package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inScope says whether a quota counts obj. A scope that this package does not know counts nothing, for what is not certain
// is not blamed.
func inScope(quota *corev1.ResourceQuota, obj client.Object) bool {
	terms := make([]corev1.ScopedResourceSelectorRequirement, 0, len(quota.Spec.Scopes))
	for _, scope := range quota.Spec.Scopes {
		terms = append(terms, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if quota.Spec.ScopeSelector != nil {
		terms = append(terms, quota.Spec.ScopeSelector.MatchExpressions...)
	}
	pod, isPod := obj.(*corev1.Pod)
	if !isPod {
		return len(terms) == 0
	}
	return !slices.ContainsFunc(terms, func(term corev1.ScopedResourceSelectorRequirement) bool { return !podMatches(pod, term) })
}

func podMatches(pod *corev1.Pod, term corev1.ScopedResourceSelectorRequirement) bool {
	switch term.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return pod.Spec.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return pod.Spec.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		return classMatches(pod.Spec.PriorityClassName, term)
	default:
		return false
	}
}

func classMatches(class string, term corev1.ScopedResourceSelectorRequirement) bool {
	switch term.Operator {
	case corev1.ScopeSelectorOpIn:
		return slices.Contains(term.Values, class)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(term.Values, class)
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	default:
		return class != ""
	}
}

// isBestEffort says whether neither the Pod nor any container asks for, or is limited in, CPU or memory.
func isBestEffort(pod *corev1.Pod) bool {
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(container corev1.Container) bool {
		return hasCompute(container.Resources.Requests) || hasCompute(container.Resources.Limits)
	})
}

func hasCompute(list corev1.ResourceList) bool {
	return !list.Cpu().IsZero() || !list.Memory().IsZero()
}
