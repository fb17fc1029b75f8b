package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkQuotas: a Pod that is to come must have room. One that is there already needs room for its successor at an update.
func checkQuotas(seen Seen, pods []corev1.PodTemplateSpec) []Finding {
	fresh := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.PodTemplateSpec) bool {
		return slices.ContainsFunc(workloads(seen), func(w workload) bool { return w.Name == pod.Name && w.Namespace == pod.Namespace && w.ready > 0 })
	})
	var findings []Finding
	for _, quota := range seen.Quotas.Value {
		object := fmt.Sprintf("ResourceQuota %s/%s", quota.Namespace, quota.Name)
		edit := fmt.Sprintf("kubectl --namespace %s edit resourcequota %s", quota.Namespace, quota.Name)
		if why := lacksRoom(quota, fresh); why != nil {
			findings = append(findings, blocked(object, "it refuses our Pods: %s", strings.Join(why, "; ")).with(edit))
		} else if why := lacksRoom(quota, pods); why != nil {
			findings = append(findings, warning(object, "our Pods run, but an update, which starts the new one first, would be refused: %s", strings.Join(why, "; ")).with(edit))
		}
	}
	return findings
}

// lacksRoom says what of a quota the Pods would exceed, or do not tell.
func lacksRoom(quota corev1.ResourceQuota, pods []corev1.PodTemplateSpec) []string {
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod corev1.PodTemplateSpec) bool { return !inScope(quota, pod.Spec) })
	if len(pods) == 0 {
		return nil
	}
	var why []string
	for _, name := range sorted(quota.Spec.Hard) {
		needed := resource.NewQuantity(0, resource.DecimalSI)
		for _, pod := range pods {
			asked, told := askedFrom(name, pod.Spec)
			if !told {
				why = append(why, fmt.Sprintf("it counts %s, which the Pods of %s do not tell (a LimitRange can give a default)", name, pod.Name))
			}
			needed.Add(asked)
		}
		hard, used := quota.Spec.Hard[name], quota.Status.Used[name]
		after := used.DeepCopy()
		after.Add(*needed)
		if !needed.IsZero() && after.Cmp(hard) > 0 {
			why = append(why, fmt.Sprintf("they ask for %s of %s, and %s of %s are used", needed.String(), name, used.String(), hard.String()))
		}
	}
	return why
}

// askedFrom is what one Pod takes of a quota's resource, and whether every container tells it that has to.
func askedFrom(name corev1.ResourceName, spec corev1.PodSpec) (resource.Quantity, bool) {
	of, plain := requestsOf, strings.TrimPrefix(string(name), "requests.")
	switch {
	case name == corev1.ResourcePods || name == "count/pods":
		return resource.MustParse("1"), true
	case strings.HasPrefix(string(name), "limits."):
		of, plain = limitsOf, strings.TrimPrefix(string(name), "limits.")
	}
	resourceName := corev1.ResourceName(plain)
	if resourceName != corev1.ResourceCPU && resourceName != corev1.ResourceMemory {
		return total(spec, of)[resourceName], true
	}
	for _, container := range spec.Containers {
		if _, set := of(container)[resourceName]; !set {
			return resource.Quantity{}, false
		}
	}
	return total(spec, of)[resourceName], true
}

// inScope says whether a quota counts a Pod.
func inScope(quota corev1.ResourceQuota, spec corev1.PodSpec) bool {
	for _, scope := range quota.Spec.Scopes {
		if !scopeHolds(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, spec) {
			return false
		}
	}
	if quota.Spec.ScopeSelector == nil {
		return true
	}
	for _, requirement := range quota.Spec.ScopeSelector.MatchExpressions {
		if !scopeHolds(requirement, spec) {
			return false
		}
	}
	return true
}

// scopeHolds for Pods such as ours: without deadline and affinity, with requests.
func scopeHolds(requirement corev1.ScopedResourceSelectorRequirement, spec corev1.PodSpec) bool {
	switch requirement.ScopeName {
	case corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort:
		return true
	case corev1.ResourceQuotaScopePriorityClass:
	default:
		return false
	}
	named := slices.Contains(requirement.Values, spec.PriorityClassName)
	switch requirement.Operator {
	case corev1.ScopeSelectorOpIn:
		return named
	case corev1.ScopeSelectorOpNotIn:
		return !named
	case corev1.ScopeSelectorOpExists:
		return spec.PriorityClassName != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return spec.PriorityClassName == ""
	}
	return false
}

// decidePriority: where the API server limits a PriorityClass, as that of GKE does with system-cluster-critical, Pods of that class
// need a quota for it in their own namespace. That it does shows in such a quota of kube-system alone.
func decidePriority(seen Seen, target Target, pods []corev1.PodTemplateSpec) []Finding {
	if unknown := seen.SystemQuotas.unknown("ResourceQuotas of kube-system"); unknown != nil {
		return unknown
	}
	for _, pod := range pods {
		class := pod.Spec.PriorityClassName
		forClass := func(quota corev1.ResourceQuota) bool { return namesPriority(quota, class) }
		if !slices.ContainsFunc(seen.SystemQuotas.Value, forClass) || slices.ContainsFunc(seen.Quotas.Value, forClass) {
			continue
		}
		finding := warning("PriorityClass "+class,
			"kube-system has a quota for it, as on GKE, where the Pods of other namespaces are refused without one (insufficient quota to match these scopes). Make one")
		if seen.Namespace.Value == nil {
			finding = finding.with("kubectl create namespace " + target.namespace)
		}
		return []Finding{finding.with(fmt.Sprintf(
			`printf 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: agent-sandbox-priority}\nspec: {hard: {pods: 10}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [%s]}]}}\n' | kubectl --namespace %s apply --filename -`,
			class, target.namespace))}
	}
	return nil
}

func namesPriority(quota corev1.ResourceQuota, class string) bool {
	return quota.Spec.ScopeSelector != nil && slices.ContainsFunc(quota.Spec.ScopeSelector.MatchExpressions, func(r corev1.ScopedResourceSelectorRequirement) bool {
		return r.ScopeName == corev1.ResourceQuotaScopePriorityClass && slices.Contains(r.Values, class)
	})
}
