package quota

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bounded is a thing that a LimitRange bounds.
type bounded struct {
	what             string
	requests, limits corev1.ResourceList
}

func brokenBounds(limits *corev1.LimitRange, obj client.Object) []string {
	var broken []string
	for i := range limits.Spec.Limits {
		item := &limits.Spec.Limits[i]
		for _, thing := range thingsOf(obj, item.Type) {
			broken = append(broken, thing.breaks(item)...)
		}
	}
	return broken
}

// thingsOf are the parts of obj that a LimitRange item of that type is about.
func thingsOf(obj client.Object, kind corev1.LimitType) []bounded {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if kind == corev1.LimitTypePod {
			options := resourcehelper.PodResourcesOptions{}
			return []bounded{{"the Pod", resourcehelper.PodRequests(obj, options), resourcehelper.PodLimits(obj, options)}}
		}
		if kind == corev1.LimitTypeContainer {
			return containersOf(obj)
		}
	case *corev1.PersistentVolumeClaim:
		if kind == corev1.LimitTypePersistentVolumeClaim {
			return []bounded{{"it", obj.Spec.Resources.Requests, nil}}
		}
	}
	return nil
}

func containersOf(pod *corev1.Pod) []bounded {
	var containers []bounded
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		containers = append(containers, bounded{"container " + container.Name, container.Resources.Requests, container.Resources.Limits})
	}
	return containers
}

func (b bounded) breaks(item *corev1.LimitRangeItem) []string {
	var broken []string
	note := func(name corev1.ResourceName, what string, bound resource.Quantity) {
		broken = append(broken, fmt.Sprintf("%s of %s %s %s", name, b.what, what, bound.String()))
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		if request, set := b.requests[name]; !set || request.Cmp(least) < 0 {
			note(name, "is below the least,", least)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		if most := item.Max[name]; b.exceeds(name, most, item.Type) {
			note(name, "is above the most,", most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		if ratio := item.MaxLimitRequestRatio[name]; b.isBeyond(name, ratio) {
			note(name, "has a limit above its request times", ratio)
		}
	}
	return broken
}

// exceeds compares the limit where there are limits; a missing one is boundless. A claim has a request alone.
func (b bounded) exceeds(name corev1.ResourceName, most resource.Quantity, kind corev1.LimitType) bool {
	request, requested := b.requests[name]
	if requested && request.Cmp(most) > 0 {
		return true
	}
	limit, limited := b.limits[name]
	if kind == corev1.LimitTypePersistentVolumeClaim {
		return false
	}
	return !limited || limit.Cmp(most) > 0
}

func (b bounded) isBeyond(name corev1.ResourceName, ratio resource.Quantity) bool {
	request, limit := b.requests[name], b.limits[name]
	if request.IsZero() || limit.IsZero() {
		return true
	}
	return limit.AsApproximateFloat64() > request.AsApproximateFloat64()*ratio.AsApproximateFloat64()
}
