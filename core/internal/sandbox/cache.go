package sandbox

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// CacheOptions say what the informers keep of each kind that this package reads, and no more. A cached object is
// therefore never the base of an update.
func CacheOptions() map[client.Object]ctrlcache.ByObject {
	return map[client.Object]ctrlcache.ByObject{
		&sandboxv1beta1.Sandbox{}:       {},
		&corev1.Pod{}:                   {Transform: stripPod},
		&corev1.Service{}:               {},
		&corev1.PersistentVolumeClaim{}: {Transform: stripClaim},
		&corev1.ResourceQuota{}:         {},
		&corev1.LimitRange{}:            {},
		&nodev1.RuntimeClass{}:          {},
		&storagev1.StorageClass{}:       {},
	}
}

// LabelledOnly narrows the informers of Pods and Services to those that carry the label of a Sandbox. An object without it
// is then found only when it stands in the way, and adopted never.
func LabelledOnly(options map[client.Object]ctrlcache.ByObject) (map[client.Object]ctrlcache.ByObject, error) {
	exists, err := labels.NewRequirement(sandboxv1beta1.LabelSandboxNameHash, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting by label %s: %w", sandboxv1beta1.LabelSandboxNameHash, err)
	}
	narrowed := maps.Clone(options)
	for obj, by := range narrowed {
		switch obj.(type) {
		case *corev1.Pod, *corev1.Service:
			by.Label = labels.NewSelector().Add(*exists)
			narrowed[obj] = by
		}
	}
	return narrowed, nil
}

var (
	_ cache.TransformFunc = stripPod
	_ cache.TransformFunc = stripClaim
)

func stripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	pod.ManagedFields = nil
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, SchedulingGates: pod.Spec.SchedulingGates}
	return pod, nil
}

func stripClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	claim.ManagedFields = nil
	claim.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: claim.Spec.StorageClassName}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
}
