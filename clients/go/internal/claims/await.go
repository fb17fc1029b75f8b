package claims

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/pause"
)

// Source reads and watches objects of one kind in one namespace.
type Source[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Judge says whether an object is as it is awaited, or by an error that it will not be.
type Judge[T metav1.Object] func(T) (bool, error)

// Await follows one object from what was seen of it, by one watch, until judge is satisfied or returns an error. A watch that breaks
// off is taken up again. It returns what it saw last; the error is that of judge, ErrDeleted if the object goes or is replaced by
// another of its name, or the cause of the context's end.
func Await[T metav1.Object](ctx context.Context, source Source[T], seen T, judge Judge[T]) (T, error) {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 6, Cap: 5 * time.Second}
	if done, err := judge(seen); done || err != nil {
		return seen, err
	}
	for {
		latest, done, err := follow(ctx, source, seen, judge)
		seen = latest
		var broken *brokenError
		if done || err != nil && !errors.As(err, &broken) {
			return seen, err
		}
		if err := pause.For(ctx, backoff.Step()); err != nil {
			return seen, err
		}
		latest, err = source.Get(ctx, seen.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && latest.GetUID() != seen.GetUID():
			return seen, gone(seen)
		case err != nil && !passing(err):
			return seen, fmt.Errorf("reading %s/%s: %w", seen.GetNamespace(), seen.GetName(), err)
		case err != nil:
			continue
		}
		seen = latest
		if done, err := judge(seen); done || err != nil {
			return seen, err
		}
	}
}

// brokenError is the end of a watch after which another may do.
type brokenError struct{ cause error }

// Error implements error.
func (b *brokenError) Error() string { return "the watch broke off: " + b.cause.Error() }

// Unwrap gives the cause.
func (b *brokenError) Unwrap() error { return b.cause }

// follow watches until judge is done with what it sees, or the watch ends.
func follow[T metav1.Object](ctx context.Context, source Source[T], seen T, judge Judge[T]) (T, bool, error) {
	events, err := source.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, seen.GetName()).String(),
		ResourceVersion: seen.GetResourceVersion(),
	})
	if err != nil {
		return seen, false, broken(seen, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(T)
		switch {
		case event.Type == watch.Error:
			return seen, false, broken(seen, apierrors.FromObject(event.Object))
		case !ok || event.Type == watch.Bookmark:
			continue
		case event.Type == watch.Deleted || object.GetUID() != seen.GetUID():
			return seen, false, gone(seen)
		}
		seen = object
		if done, err := judge(seen); done || err != nil {
			return seen, done, err
		}
	}
	return seen, false, broken(seen, io.EOF)
}

func broken(seen metav1.Object, cause error) error {
	if passing(cause) {
		return &brokenError{cause: cause}
	}
	return fmt.Errorf("watching %s/%s: %w", seen.GetNamespace(), seen.GetName(), cause)
}

func gone(object metav1.Object) error {
	return fmt.Errorf("%w: %s/%s", ErrDeleted, object.GetNamespace(), object.GetName())
}

// passing tells what may pass, as a lost connection or an API server under load, from a refusal.
func passing(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonBadRequest,
		metav1.StatusReasonInvalid, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable:
		return false
	default:
		return true
	}
}
