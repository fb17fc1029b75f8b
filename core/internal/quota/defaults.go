package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withDefaults is the Pod as admission sees it: a request that is missing is the limit's or the LimitRange's, a limit that
// is missing the LimitRange's.
func (l Limits) withDefaults(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			l.setDefaults(&containers[i].Resources)
		}
	}
	return pod
}

func (l Limits) setDefaults(resources *corev1.ResourceRequirements) {
	resources.Requests = filled(resources.Requests, resources.Limits)
	for i := range l.Ranges {
		for _, item := range l.Ranges[i].Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				resources.Requests = filled(resources.Requests, item.DefaultRequest)
				resources.Limits = filled(resources.Limits, item.Default)
			}
		}
	}
}

// filled returns list with what it lacks of defaults.
func filled(list, defaults corev1.ResourceList) corev1.ResourceList {
	all := maps.Clone(defaults)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, list)
	return all
}

// Spoiler names the LimitRanges whose defaults make obj, which is to be created, invalid; empty when none does. Admission puts
// the defaults in before the API server validates, which then blames the object.
func (l Limits) Spoiler(obj client.Object) string {
	pod, ok := obj.(*corev1.Pod)
	if !ok || len(l.Ranges) == 0 || len(contradictions(pod)) > 0 {
		return ""
	}
	var spoilers []string
	for i := range l.Ranges {
		alone := Limits{Ranges: l.Ranges[i : i+1]}
		if wrong := contradictions(alone.withDefaults(pod)); len(wrong) > 0 {
			spoilers = append(spoilers, fmt.Sprintf("LimitRange %q spoils it by its defaults: %s", l.Ranges[i].Name, strings.Join(wrong, ", ")))
		}
	}
	return strings.Join(spoilers, "; ")
}

// contradictions are the resources of a Pod whose requests and limits do not go together.
func contradictions(pod *corev1.Pod) []string {
	var wrong []string
	compare := func(what string, smaller, greater corev1.ResourceList, relation string) {
		for _, name := range slices.Sorted(maps.Keys(smaller)) {
			less, most := smaller[name], greater[name]
			if _, bounded := greater[name]; bounded && less.Cmp(most) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s of %s "+relation, name, what, less.String(), most.String()))
			}
		}
	}
	own := pod.Spec.Resources
	if own == nil {
		own = &corev1.ResourceRequirements{}
	}
	for _, container := range containersOf(pod) {
		compare(container.what, container.requests, container.limits, "has a request of %s above a limit of %s")
		compare(container.what, container.limits, own.Limits, "has a limit of %s above the Pod's, %s")
	}
	all := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true})
	compare("all containers", all, own.Requests, "is requested at %s above the Pod's, %s")
	return wrong
}
