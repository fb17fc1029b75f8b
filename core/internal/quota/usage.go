package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objectCountPrefix begins the quota resources that count objects of any kind.
const objectCountPrefix = "count/"

// storageClassSuffix ends the quota resources of one StorageClass: <class>.storageclass.storage.k8s.io/<resource>.
const storageClassSuffix = ".storageclass.storage.k8s.io/"

// usage is what obj counts for in each resource that a quota can have.
func usage(obj client.Object) corev1.ResourceList {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return podUsage(obj)
	case *corev1.PersistentVolumeClaim:
		return claimUsage(obj)
	case *corev1.Service:
		return count(corev1.ResourceServices)
	default:
		return nil
	}
}

func count(name corev1.ResourceName) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	return corev1.ResourceList{name: one, objectCountPrefix + name: one}
}

func podUsage(pod *corev1.Pod) corev1.ResourceList {
	used := computeUsage(
		resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}),
		resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}))
	for name, quantity := range count(corev1.ResourcePods) {
		used[name] = quantity
	}
	return used
}

// computeUsage names requests and limits as quotas do: a request of cpu counts as cpu and as requests.cpu.
func computeUsage(requests, limits corev1.ResourceList) corev1.ResourceList {
	used := corev1.ResourceList{}
	for name, quantity := range requests {
		used[corev1.DefaultResourceRequestsPrefix+name] = quantity
		if !strings.Contains(string(name), "/") {
			used[name] = quantity
		}
	}
	for name, quantity := range limits {
		used["limits."+name] = quantity
	}
	return used
}

func claimUsage(claim *corev1.PersistentVolumeClaim) corev1.ResourceList {
	used := count(corev1.ResourcePersistentVolumeClaims)
	storage, sized := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if sized {
		used[corev1.ResourceRequestsStorage] = storage
	}
	if class := claim.Spec.StorageClassName; class != nil && *class != "" {
		prefix := corev1.ResourceName(*class + storageClassSuffix)
		used[prefix+corev1.ResourcePersistentVolumeClaims] = used[corev1.ResourcePersistentVolumeClaims]
		if sized {
			used[prefix+corev1.ResourceRequestsStorage] = storage
		}
	}
	return used
}

// mustBeSet are the resources that, once a quota has them, every container has to state, unless the Pod does as a whole.
func mustBeSet(name corev1.ResourceName) bool {
	return slices.Contains([]corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	}, name)
}

func containersWithout(obj client.Object, name corev1.ResourceName) []string {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !mustBeSet(name) || resourcehelper.IsPodLevelResourcesSet(pod) {
		return nil
	}
	var without []string
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if _, set := computeUsage(container.Resources.Requests, container.Resources.Limits)[name]; !set {
			without = append(without, container.Name)
		}
	}
	return without
}
