package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/shared/consistency"
)

// observeObstacle looks at what blocks the children of a Sandbox whose status says that something does.
func (r *Reconciler) observeObstacle(ctx context.Context, s *seen) error {
	key := client.ObjectKeyFromObject(s.sandbox)
	if obstacleOf(s.sandbox) == nil || s.suspended() || s.expired() {
		r.tries.Forget(key)
		return nil
	}
	s.nextTry = r.tries.Hold(key, s.now, retryLongest)
	if s.nextTry == 0 {
		r.tries.Forget(key)
		return nil
	}
	around, err := observeSurroundings(ctx, r.client, s.sandbox)
	s.around = &around
	return err
}

// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get;list;watch

// observeStorageClasses looks for the StorageClasses that keep the Pod from finding a node.
func (r *Reconciler) observeStorageClasses(ctx context.Context, s *seen) error {
	pod := s.pod()
	if pod == nil || pod.Spec.NodeName != "" || podCondition(pod, corev1.PodScheduled) == nil {
		return nil
	}
	for name, claim := range s.claims {
		class := ptr.Deref(claim.Spec.StorageClassName, "")
		if class == "" || claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		found, err := consistency.Find(ctx, r.client, types.NamespacedName{Name: class}, &storagev1.StorageClass{})
		if err != nil {
			return fmt.Errorf("reading StorageClass %q: %w", class, err)
		}
		if !found {
			s.missingClasses[name] = class
		}
	}
	return nil
}
