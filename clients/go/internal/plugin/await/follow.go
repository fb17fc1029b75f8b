package await

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// source is a kind in a namespace, of which the objects that the selector selects are followed.
type source struct {
	list      client.ObjectList
	namespace string
	selector  fields.Selector
}

// follow calls changed once it has a list, and again with each change, until ctx ends or it fails, and returns why. A watch that ends, as they do now and then, is
// begun anew.
func follow(ctx context.Context, api client.WithWatch, of source, changed func()) error {
	for {
		list, ok := of.list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is no list", of.list)
		}
		only := &client.ListOptions{Namespace: of.namespace, FieldSelector: of.selector}
		if err := api.List(ctx, list, only); err != nil {
			return fmt.Errorf("listing as %T: %w", list, err)
		}
		changed()
		only.Raw = &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
		events, err := api.Watch(ctx, list, only)
		if err != nil {
			return fmt.Errorf("watching as %T: %w", list, err)
		}
		err = drain(ctx, events, changed)
		events.Stop()
		if err != nil {
			return err
		}
	}
}

// drain calls changed with each event until the watch ends by itself, which is no error.
func drain(ctx context.Context, events watch.Interface, changed func()) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return watchError(apierrors.FromObject(event.Object))
			}
			changed()
		}
	}
}

// watchError drops what another list mends.
func watchError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return fmt.Errorf("watching: %w", err)
}
