package resolve

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch

// CacheOptions say what is watched: the Pods with the label of a Sandbox, of which little is kept; in one namespace, or in all for "".
func CacheOptions(namespace string) (cache.Options, error) {
	exists, err := labels.NewRequirement(sandboxv1beta1.LabelSandboxNameHash, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("selecting by label %s: %w", sandboxv1beta1.LabelSandboxNameHash, err)
	}
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: labels.NewSelector().Add(*exists), Transform: strip}},
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options, nil
}

// Feed has the informer of Pods tell the index what it sees. The informer starts with its cache. The result says whether the index has
// seen all that there was.
func Feed(ctx context.Context, informers cache.Cache, index *Index) (synced func() bool, err error) {
	informer, err := informers.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("making an informer of Pods: %w", err)
	}
	registration, err := informer.AddEventHandler(index)
	if err != nil {
		return nil, fmt.Errorf("listening to the informer of Pods: %w", err)
	}
	return registration.HasSynced, nil
}

// strip keeps of a Pod what the index reads.
func strip(obj any) (any, error) {
	seen, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: seen.Namespace, Name: seen.Name, UID: seen.UID, ResourceVersion: seen.ResourceVersion,
			DeletionTimestamp: seen.DeletionTimestamp, OwnerReferences: seen.OwnerReferences,
		},
		Status: corev1.PodStatus{Phase: seen.Status.Phase, PodIPs: seen.Status.PodIPs},
	}
	if pool := seen.Labels[sandboxv1beta1.LabelWarmPool]; pool != "" {
		kept.Labels = map[string]string{sandboxv1beta1.LabelWarmPool: pool}
	}
	for _, condition := range seen.Status.Conditions {
		if condition.Type == corev1.PodReady {
			kept.Status.Conditions = []corev1.PodCondition{{Type: condition.Type, Status: condition.Status}}
		}
	}
	return kept, nil
}
