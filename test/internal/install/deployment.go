package install

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Replicas returns how many replicas the Deployment of a controller is to have on a cluster; 0 without one. A local
// controller beside them would not be alone, and WithoutReplicas would switch them off.
func Replicas(ctx context.Context, c client.Reader, controller string) (int32, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: controller}}
	err := c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return 0, fmt.Errorf("looking for Deployment %s: %w", deployment.Name, err)
	case err != nil:
		return 0, nil
	default:
		return ptr.Deref(deployment.Spec.Replicas, 1), nil
	}
}
