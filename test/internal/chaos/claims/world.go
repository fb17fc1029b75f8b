package claims

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// World is a namespace at one moment.
type World struct {
	check.World
	Bindings []extensionsv1beta1.SandboxClaim
	Pools    []extensionsv1beta1.SandboxWarmPool
}

// Read reads a namespace.
func Read(ctx context.Context, c client.Reader, namespace string) (World, error) {
	children, err := check.Read(ctx, c, namespace)
	if err != nil {
		return World{}, err
	}
	var claims extensionsv1beta1.SandboxClaimList
	var pools extensionsv1beta1.SandboxWarmPoolList
	for _, list := range []client.ObjectList{&claims, &pools} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return World{}, fmt.Errorf("reading namespace %s: %w", namespace, err)
		}
	}
	return World{World: children, Bindings: claims.Items, Pools: pools.Items}, nil
}
