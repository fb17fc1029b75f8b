package preflight

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkLimits tells of the ResourceQuotas and LimitRanges of the namespace that would refuse our Pods.
func checkLimits(seen Seen, target Target) []Finding {
	object := target.describeNamespace()
	if unknown := append(seen.Ranges.unknown("LimitRanges"), seen.Quotas.unknown("ResourceQuotas")...); unknown != nil {
		return unknown
	}
	pods := target.pods()
	var findings []Finding
	for i := range pods {
		for _, limits := range seen.Ranges.Value {
			setDefaults(&pods[i].Spec, limits)
		}
		for _, limits := range seen.Ranges.Value {
			findings = append(findings, decideRange(limits, pods[i])...)
		}
	}
	findings = append(findings, checkQuotas(seen, pods)...)
	findings = append(findings, decidePriority(seen, target, pods)...)
	if findings == nil {
		return []Finding{ok(object, "no ResourceQuota or LimitRange refuses our Pods")}
	}
	return findings
}

// setDefaults gives containers what a LimitRange gives them at admission. A limit stands for a request that is missing.
func setDefaults(spec *corev1.PodSpec, limits corev1.LimitRange) {
	for _, item := range limits.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		for i := range spec.Containers {
			resources := &spec.Containers[i].Resources
			resources.Limits = withDefaults(resources.Limits, item.Default)
			resources.Requests = withDefaults(resources.Requests, item.DefaultRequest)
		}
	}
}

func withDefaults(have, defaults corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range defaults {
		if _, set := have[name]; !set {
			if have == nil {
				have = corev1.ResourceList{}
			}
			have[name] = quantity
		}
	}
	return have
}

func decideRange(limits corev1.LimitRange, pod corev1.PodTemplateSpec) []Finding {
	var findings []Finding
	for _, item := range limits.Spec.Limits {
		for _, asked := range askedOf(item.Type, pod.Spec) {
			for _, why := range outside(item, asked) {
				findings = append(findings, blocked(fmt.Sprintf("LimitRange %s/%s", limits.Namespace, limits.Name), "it refuses the Pods of %s: %s", pod.Name, why).
					with(fmt.Sprintf("kubectl --namespace %s edit limitrange %s", limits.Namespace, limits.Name)))
			}
		}
	}
	return findings
}

// askedOf is what a LimitRange's item of that type looks at: each container, or all of them together.
func askedOf(limitType corev1.LimitType, spec corev1.PodSpec) []corev1.ResourceRequirements {
	switch limitType {
	case corev1.LimitTypeContainer:
		var each []corev1.ResourceRequirements
		for _, container := range spec.Containers {
			each = append(each, container.Resources)
		}
		return each
	case corev1.LimitTypePod:
		return []corev1.ResourceRequirements{{Requests: total(spec, requestsOf), Limits: total(spec, limitsOf)}}
	}
	return nil
}

func outside(item corev1.LimitRangeItem, asked corev1.ResourceRequirements) []string {
	var why []string
	for _, name := range sorted(item.Default) {
		request, limit := asked.Requests[name], asked.Limits[name]
		if request.Cmp(limit) > 0 {
			why = append(why, fmt.Sprintf("its default limit of %s, %s, is less than the %s that they ask for", name, limit.String(), request.String()))
		}
	}
	for _, name := range sorted(item.Min) {
		least := item.Min[name]
		if request, set := asked.Requests[name]; !set || request.Cmp(least) < 0 {
			why = append(why, fmt.Sprintf("they ask for %s of %s, and %s is the least", quantity(request, set), name, least.String()))
		}
	}
	for _, name := range sorted(item.Max) {
		most := item.Max[name]
		if limit, set := asked.Limits[name]; !set || limit.Cmp(most) > 0 {
			why = append(why, fmt.Sprintf("their limit of %s is %s, and %s is the most", name, quantity(limit, set), most.String()))
		}
	}
	for _, name := range sorted(item.MaxLimitRequestRatio) {
		ratio, limit, request := item.MaxLimitRequestRatio[name], asked.Limits[name], asked.Requests[name]
		if request.IsZero() || limit.IsZero() || limit.AsApproximateFloat64() > ratio.AsApproximateFloat64()*request.AsApproximateFloat64() {
			why = append(why, fmt.Sprintf("their limit of %s is more than %s times what they ask for", name, ratio.String()))
		}
	}
	return why
}

func quantity(q resource.Quantity, set bool) string {
	if !set {
		return "nothing"
	}
	return q.String()
}

func sorted(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

func requestsOf(container corev1.Container) corev1.ResourceList { return container.Resources.Requests }

func limitsOf(container corev1.Container) corev1.ResourceList { return container.Resources.Limits }

// total adds up what containers ask for. Our Pods have no init containers.
func total(spec corev1.PodSpec, of func(corev1.Container) corev1.ResourceList) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, container := range spec.Containers {
		for name, quantity := range of(container) {
			added := sum[name]
			added.Add(quantity)
			sum[name] = added
		}
	}
	return sum
}
