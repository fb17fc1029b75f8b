package resolve

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// lookupTimeout bounds a question to the API server, the wait for its turn included.
const lookupTimeout = 5 * time.Second

// account is what the API server says of a Sandbox.
type account struct {
	exists bool
	uid    types.UID
	// pooled says that a warm pool controls it.
	pooled    bool
	ready     bool
	addresses []netip.Addr
	// service says that it has a Service, whose name is its own.
	service bool
}

// lookup asks the API server about Sandboxes, once for all who want to know the same at the same time.
type lookup struct {
	live client.Reader
	once *singleflight.Group
}

// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes,verbs=get

// ask does not end early with ctx alone: others may wait for the same answer.
func (l lookup) ask(ctx context.Context, sandbox types.NamespacedName) (account, error) {
	answer := l.once.DoChan(sandbox.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		return l.read(ctx, sandbox)
	})
	select {
	case <-ctx.Done():
		return account{}, context.Cause(ctx)
	case got := <-answer:
		told, _ := got.Val.(account)
		return told, got.Err
	}
}

func (l lookup) read(ctx context.Context, sandbox types.NamespacedName) (account, error) {
	var found sandboxv1beta1.Sandbox
	switch err := l.live.Get(ctx, sandbox, &found); {
	case apierrors.IsNotFound(err):
		return account{}, nil
	case err != nil:
		return account{}, fmt.Errorf("reading Sandbox %s: %w", sandbox, err)
	}
	_, pooled := ownership.ControllerOf(&found, schema.GroupKind{Group: sandboxv1beta1.ExtensionsGroupName, Kind: sandboxv1beta1.WarmPoolKind})
	told := account{
		exists: true, uid: found.UID, pooled: pooled, service: found.Status.Service == found.Name,
		ready: found.DeletionTimestamp == nil && meta.IsStatusConditionTrue(found.Status.Conditions, sandboxv1beta1.ConditionReady),
	}
	for _, ip := range found.Status.PodIPs {
		if address, err := netip.ParseAddr(ip); err == nil {
			told.addresses = append(told.addresses, address.Unmap())
		}
	}
	return told, nil
}
