// Package barrier decides from when on a new leader may trust its caches: once they show everything that was written before it
// led.
package barrier

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// page is how many objects are read at once.
	page = 500
	// pause is how soon the caches are looked at again.
	pause = 10 * time.Millisecond
	// retryPause is how soon a failed read from the API server is tried again.
	retryPause = time.Second
)

// Kind is a kind of object whose cache must catch up.
type Kind struct {
	schema.GroupVersionKind

	// New returns an empty object of the kind, as it is cached.
	New func() client.Object
}

// Barrier is passed once per leadership. As a Runnable of a manager it starts with the leadership.
type Barrier struct {
	cached    client.Reader
	live      client.Reader
	namespace string
	kinds     []Kind
	synced    []func() bool
	passed    chan struct{}
}

// New returns a Barrier that compares, for those kinds, the caches with the API server, and awaits those handlers of theirs. The
// namespace is the one that is cached; empty: all are.
func New(cached, live client.Reader, namespace string, kinds []Kind, synced ...func() bool) *Barrier {
	return &Barrier{cached: cached, live: live, namespace: namespace, kinds: kinds, synced: synced, passed: make(chan struct{})}
}

// Wait returns once the barrier is passed, or with the error of ctx.
func (b *Barrier) Wait(ctx context.Context) error {
	select {
	case <-b.passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start reads each kind once from the API server and opens the barrier when the caches show no less.
func (b *Barrier) Start(ctx context.Context) error {
	for {
		err := b.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			close(b.passed)
			return nil
		}
		log.FromContext(ctx).Error(err, "Comparing the caches with the API server, to be tried again", "pause", retryPause)
		if wait.PollUntilContextTimeout(ctx, retryPause, 2*retryPause, false, func(context.Context) (bool, error) { return true, nil }) != nil {
			return nil
		}
	}
}

func (b *Barrier) pass(ctx context.Context) error {
	for _, synced := range b.synced {
		err := wait.PollUntilContextCancel(ctx, pause, true, func(context.Context) (bool, error) { return synced(), nil })
		if err != nil {
			return fmt.Errorf("waiting for a handler of an informer: %w", err)
		}
	}
	for _, kind := range b.kinds {
		if err := b.catchUp(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// catchUp waits until the cache of a kind shows every object at least at the version at which the API server has it now.
func (b *Barrier) catchUp(ctx context.Context, kind Kind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := b.live.List(ctx, list, client.InNamespace(b.namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			err := wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) { return b.shows(ctx, kind, item) })
			if err != nil {
				return fmt.Errorf("waiting for the cache to show %s %q: %w", kind.Kind, item.Name, err)
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}

// shows says whether the cache shows an object at that version or later, or is right not to show it any more.
func (b *Barrier) shows(ctx context.Context, kind Kind, item *metav1.PartialObjectMetadata) (bool, error) {
	key := client.ObjectKeyFromObject(item)
	cached := kind.New()
	err := b.cached.Get(ctx, key, cached, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		err = b.live.Get(ctx, key, cached)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if err != nil {
		return false, err
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), item.ResourceVersion)
	return order >= 0, err
}

// NeedLeaderElection is true: what was written before matters from then on.
func (b *Barrier) NeedLeaderElection() bool { return true }
