package await

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Want says what is still missing of an object, and nothing once it is as wanted. The object is the zero value, nil for
// a pointer, while there is none.
type Want[T client.Object] func(seen T) string

// Until watches the object of the given one's namespace and name until want is content, and returns it as it was then.
// The error says what was missing at last, with the object's conditions and Events.
func Until[T client.Object](ctx context.Context, c client.WithWatch, object T, timeout time.Duration, want Want[T]) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %s", timeout))
	defer cancel()
	w := waiter[T]{client: c, object: object, want: want}
	err := w.run(ctx)
	if err == nil {
		return w.seen, nil
	}
	return w.seen, fmt.Errorf("waiting for %s: %w: %s%s", w.describe(), err, w.missing, explain(context.WithoutCancel(ctx), c, object))
}

// Gone waits until the object does not exist.
func Gone[T client.Object](ctx context.Context, c client.WithWatch, object T, timeout time.Duration) error {
	_, err := Until(ctx, c, object, timeout, func(seen T) string {
		if any(seen) == any(*new(T)) {
			return ""
		}
		if seen.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("it is being deleted (finalizers %v)", seen.GetFinalizers())
		}
		return "it still exists and nobody deletes it"
	})
	return err
}

type waiter[T client.Object] struct {
	client  client.WithWatch
	object  T
	want    Want[T]
	seen    T
	missing string
}

// run looks anew whenever a watch ends, as watches do now and then.
func (w *waiter[T]) run(ctx context.Context) error {
	for {
		list, err := w.newList()
		if err != nil {
			return err
		}
		only := []client.ListOption{client.InNamespace(w.object.GetNamespace()), client.MatchingFields{"metadata.name": w.object.GetName()}}
		if err := w.client.List(ctx, list, only...); err != nil {
			return w.cause(ctx, err)
		}
		if done, err := w.look(list); done || err != nil {
			return err
		}
		only = append(only, &client.ListOptions{Raw: fromVersion(list.GetResourceVersion())})
		events, err := w.client.Watch(ctx, list, only...)
		if err != nil {
			return w.cause(ctx, err)
		}
		done, err := w.follow(ctx, events)
		events.Stop()
		if done || err != nil {
			return err
		}
	}
}

// look judges what a list holds.
func (w *waiter[T]) look(list client.ObjectList) (bool, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return false, fmt.Errorf("reading a list: %w", err)
	}
	w.seen = *new(T)
	for _, item := range items {
		if object, ok := item.(T); ok {
			w.seen = object
		}
	}
	return w.judge(), nil
}

// follow judges every state that a watch tells. It returns false when the watch ended before its time.
func (w *waiter[T]) follow(ctx context.Context, events watch.Interface) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case event, open := <-events.ResultChan():
			if !open {
				return false, nil
			}
			if event.Type == watch.Error {
				return false, w.watchError(apierrors.FromObject(event.Object))
			}
			w.seen = *new(T)
			if object, ok := event.Object.(T); ok && event.Type != watch.Deleted {
				w.seen = object
			}
			if w.judge() {
				return true, nil
			}
		}
	}
}

func (w *waiter[T]) judge() bool {
	w.missing = w.want(w.seen)
	return w.missing == ""
}

// watchError drops what another list mends.
func (w *waiter[T]) watchError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	return fmt.Errorf("watching: %w", err)
}

// cause prefers the reason why ctx ended to the error that it made of a request.
func (w *waiter[T]) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (w *waiter[T]) describe() string {
	kind := "object"
	if gvk, err := apiutil.GVKForObject(w.object, w.client.Scheme()); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + client.ObjectKeyFromObject(w.object).String()
}

// newList makes an empty list of the object's kind.
func (w *waiter[T]) newList() (client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(w.object, w.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("finding the kind to watch: %w", err)
	}
	gvk.Kind += "List"
	made, err := w.client.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s is no list", gvk.Kind)
	}
	return list, nil
}
