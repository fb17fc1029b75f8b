package sandbox

import (
	"context"
	"errors"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// A status whose write nobody has answered for may stand although the next pass, by an older view, has found nothing to write.
func TestTheEventOfAnUnansweredWriteWakes(t *testing.T) {
	box := sandboxWith(suspended)
	cluster := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(box).WithStatusSubresource(box).
		WithIndex(&sandboxv1beta1.Sandbox{}, obstacleIndex, obstacleOf).
		WithIndex(Indexes()[0].Of, Indexes()[0].Name, Indexes()[0].By).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				return errors.Join(c.SubResource(sub).Patch(ctx, obj, p, opts...), errors.New("connection reset"))
			},
		}).Build()
	reconciler := New(testConfig(t, cluster))
	if _, err := reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(box)}); err == nil {
		t.Fatal("no error")
	}
	written := &sandboxv1beta1.Sandbox{}
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(box), written); err != nil || len(written.Status.Conditions) == 0 {
		t.Fatalf("the status did not take effect: %+v, %v", written.Status, err)
	}
	if !reconciler.Wakes().Update(event.UpdateEvent{ObjectOld: box, ObjectNew: written}) {
		t.Error("it wakes nobody")
	}
}
