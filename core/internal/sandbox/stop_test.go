package sandbox

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
)

func TestAStopInTheMiddleIsNoError(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			stop()
			return ctx.Err()
		},
	}).Build()
	reconciler := &Reconciler{client: c, live: c, pacer: pacer.New[types.NamespacedName](), echoes: consistency.NewEchoes[types.NamespacedName]()}
	result, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "box"}})
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("got %+v, %v", result, err)
	}
}
