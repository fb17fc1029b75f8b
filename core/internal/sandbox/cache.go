package sandbox

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheOptions say what the informers keep of each kind: what this package reads, and no more. A cached object is
// therefore never the base of an update.
func CacheOptions() map[client.Object]ctrlcache.ByObject {
	return map[client.Object]ctrlcache.ByObject{
		&corev1.Pod{}:                   {Transform: stripPod},
		&corev1.PersistentVolumeClaim{}: {Transform: stripClaim},
	}
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
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	return pod, nil
}

func stripClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	claim.ManagedFields = nil
	claim.Spec = corev1.PersistentVolumeClaimSpec{}
	claim.Status = corev1.PersistentVolumeClaimStatus{}
	return claim, nil
}
