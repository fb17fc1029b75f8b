package chaos

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// persist sends a user's request again until it is answered: a control plane that is not there is no answer. What was not answered
// may have been done all the same.
func (p *play) persist(ctx context.Context, request func() error) error {
	for {
		err := request()
		if isAnswer(err) || ctx.Err() != nil {
			return err
		}
		p.tally.change(func(c *counts) { c.refused++ })
		if err := sleepUntil(ctx, time.Now().Add(retryPause)); err != nil {
			return err
		}
	}
}

// isAnswer says whether the API server has said yes or no, and does not ask for another try. One that is just starting knows none of
// our kinds, which is no answer about an object.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	if err == nil {
		return true
	}
	if !errors.As(err, &status) {
		return false
	}
	_, unknownKind := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
	return !unknownKind && !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) && !apierrors.IsServiceUnavailable(err) &&
		!apierrors.IsInternalError(err) && !apierrors.IsTooManyRequests(err)
}

// remove deletes the very object, and returns how often it had to ask.
func (p *play) remove(ctx context.Context, object client.Object, cascade metav1.DeletionPropagation) (int, error) {
	uid, sent := object.GetUID(), 0
	p.deeds.Delete(uid)
	err := p.persist(ctx, func() error {
		sent++
		return p.client.Delete(ctx, object, client.PropagationPolicy(cascade), client.Preconditions{UID: &uid})
	})
	return sent, err
}
