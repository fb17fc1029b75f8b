package await

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/observe"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

var (
	// ErrTimeout : the time was over first.
	ErrTimeout = errors.New("timed out")
	// ErrDeleted : somebody deleted the object.
	ErrDeleted = errors.New("it was deleted meanwhile")
)

// Progress is told what is being waited for, whenever that may have changed.
type Progress interface {
	Show(explain.Finding)
}

// Waiter waits for objects of a cluster.
type Waiter struct {
	API      client.WithWatch
	Clock    clock.PassiveClock
	Progress Progress
	// Timeout bounds each wait.
	Timeout time.Duration
}

// Until waits until the object is as wanted and returns it as it was then, nil if it is gone. what says what it is to do, as "be ready".
// The error is ErrTimeout, with what was the matter at last, ErrDeleted, a *StateError, or that of a request.
func (w Waiter) Until(ctx context.Context, object client.Object, what string, goal Goal) (client.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Timeout, ErrTimeout)
	defer cancel()
	turn := &turn{Waiter: w, object: object, goal: goal, changes: make(chan struct{}, 1), failures: make(chan error, 1), followed: map[string]bool{}}
	defer turn.followers.Wait()
	defer cancel()
	turn.follow(ctx, ownSource(object), turn.fail)
	for {
		select {
		case <-ctx.Done():
			return nil, waitError(object, what, turn.timedOut(ctx))
		case err := <-turn.failures:
			if ctx.Err() != nil {
				err = turn.timedOut(ctx)
			}
			return nil, waitError(object, what, err)
		case <-turn.changes:
			done, err := turn.look(ctx)
			if ctx.Err() != nil {
				err = turn.timedOut(ctx)
			}
			if done || err != nil {
				if err != nil {
					err = waitError(object, what, err)
				}
				return turn.seen, err
			}
		}
	}
}

// turn is one wait.
type turn struct {
	Waiter
	object client.Object
	goal   Goal
	// seen is the object at last, nil once it is gone; worst was the matter with it.
	seen  client.Object
	worst explain.Finding

	changes   chan struct{}
	failures  chan error
	followers sync.WaitGroup
	followed  map[string]bool
}

// follow looks again with each change of a source, until ctx ends. Each source is followed once.
func (t *turn) follow(ctx context.Context, of source, failed func(error)) {
	key := fmt.Sprintf("%T %s", of.list, of.selector)
	if t.followed[key] {
		return
	}
	t.followed[key] = true
	t.followers.Go(func() {
		failed(follow(ctx, t.API, of, t.changed))
	})
}

// changed has the object looked at again. Changes that come meanwhile are one.
func (t *turn) changed() {
	select {
	case t.changes <- struct{}{}:
	default:
	}
}

func (t *turn) fail(err error) {
	select {
	case t.failures <- err:
	default:
	}
}

// ignore is for sources that only make the progress more telling, and that the user may not be allowed to read.
func ignore(error) {}

func (t *turn) timedOut(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrTimeout) && t.worst.What != "" {
		return fmt.Errorf("%w after %s: %w", ErrTimeout, t.Timeout, &StateError{Finding: t.worst})
	}
	return cause
}

// look reads the object, judges it and tells what it waits for.
func (t *turn) look(ctx context.Context) (bool, error) {
	live := target.Of(t.object).Kind.New()
	err := t.API.Get(ctx, client.ObjectKeyFromObject(t.object), live)
	switch {
	case apierrors.IsNotFound(err), err == nil && t.object.GetUID() != live.GetUID():
		t.seen = nil
	case err != nil:
		return false, fmt.Errorf("reading it: %w", err)
	default:
		t.seen = live
	}
	if done, err := t.goal(t.seen); done || err != nil {
		return done, err
	}
	t.worst = explain.Worst(observe.Explain(ctx, t.API, t.seen, t.Clock.Now()))
	if ctx.Err() != nil {
		return false, nil
	}
	if t.seen.GetDeletionTimestamp() == nil {
		if err := hopeless(t.worst); err != nil {
			return false, err
		}
	}
	t.Progress.Show(t.worst)
	for _, source := range t.parts() {
		t.follow(ctx, source, ignore)
	}
	return false, nil
}

// parts are what a Sandbox or claim waits for beside itself: its Pod, and what Events tell of the Pod.
func (t *turn) parts() []source {
	name := ""
	switch of := t.seen.(type) {
	case *sandboxv1beta1.Sandbox:
		name = of.Name
	case *extensionsv1beta1.SandboxClaim:
		name = of.Status.Sandbox.Name
	}
	if name == "" {
		return nil
	}
	namespace := t.seen.GetNamespace()
	return []source{
		{&corev1.PodList{}, namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, name)},
		{&corev1.EventList{}, namespace, fields.OneTermEqualSelector("involvedObject.name", name)},
	}
}

func ownSource(object client.Object) source {
	return source{target.Of(object).Kind.NewList(), object.GetNamespace(), fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName())}
}
