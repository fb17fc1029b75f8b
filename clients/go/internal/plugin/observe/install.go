package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Controllers reads what there is to see of both controllers.
func Controllers(ctx context.Context, api client.Client) []explain.Controller {
	served := map[string][]client.Object{
		explain.CoreController: {&sandboxv1beta1.Sandbox{}},
		explain.ExtensionsController: {
			&extensionsv1beta1.SandboxTemplate{}, &extensionsv1beta1.SandboxWarmPool{}, &extensionsv1beta1.SandboxClaim{},
		},
	}
	controllers := make([]explain.Controller, 0, len(served))
	for _, name := range []string{explain.CoreController, explain.ExtensionsController} {
		controllers = append(controllers, controller(ctx, api, name, served[name]))
	}
	return controllers
}

func controller(ctx context.Context, api client.Client, name string, serves []client.Object) explain.Controller {
	seen := explain.Controller{Name: name}
	for _, object := range serves {
		kind, err := api.GroupVersionKindFor(object)
		if err != nil {
			seen.Unread = append(seen.Unread, err.Error())
			continue
		}
		switch _, err := api.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); {
		case meta.IsNoMatchError(err):
			seen.Missing = append(seen.Missing, kind.Kind)
		case err != nil:
			seen.Unread = append(seen.Unread, fmt.Sprintf("asking for the kind %s: %v", kind.Kind, err))
		}
	}
	deployment := &appsv1.Deployment{}
	if read(ctx, api, &seen, name, deployment) {
		seen.Deployment = deployment
	}
	lease := &coordinationv1.Lease{}
	if read(ctx, api, &seen, explain.LeaseOf(name), lease) {
		seen.Lease = lease
	}
	return seen
}

// read reports whether the object exists. Another error is kept.
func read(ctx context.Context, api client.Client, seen *explain.Controller, name string, object client.Object) bool {
	err := api.Get(ctx, client.ObjectKey{Namespace: explain.SystemNamespace, Name: name}, object)
	if err != nil && !apierrors.IsNotFound(err) {
		seen.Unread = append(seen.Unread, fmt.Sprintf("reading %s of namespace %s: %v", name, explain.SystemNamespace, err))
	}
	return err == nil
}
