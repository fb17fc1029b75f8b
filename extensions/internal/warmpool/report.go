package warmpool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/conditions"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/reconcile"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

const (
	// statusPause is the time between two statuses of a pool.
	statusPause = time.Second
	// pauseOutdated is how soon a pool is decided about anew of which a member has changed meanwhile.
	pauseOutdated = 100 * time.Millisecond
)

// report writes the status of the pool, once a second at most, and its Events.
func (r *Reconciler) report(ctx context.Context, s seen, p plan, d done) reconcile.Outcome {
	going := slices.ContainsFunc(d.errors, refusals.IsNamespaceGoing)
	wanted := desiredStatus(s, r.limits, d)
	held, err := r.writeStatus(ctx, s, wanted, d)
	d.fail(err)
	if d.outdated {
		p.wakeWithin(pauseOutdated)
	}
	p.wakeWithin(held)
	if err := errors.Join(d.errors...); err != nil && !going {
		r.recorder.Emit(s.pool, createFailures(d)...)
		if slices.ContainsFunc(d.errors, isOfNoObject) {
			return reconcile.Failed(err)
		}
		// Another member would be refused as well, until the template changes.
	}
	return reconcile.Wait(p.wake)
}

func isOfNoObject(err error) bool { return !refusals.IsOfObject(err) }

// writeStatus makes at most one patch. It returns how long the write is held back, in case it is.
func (r *Reconciler) writeStatus(ctx context.Context, s seen, wanted extensionsv1beta1.SandboxWarmPoolStatus, d done) (time.Duration, error) {
	body, err := apply.Status(s.pool.UID, s.pool.Status, wanted)
	if err != nil || body == nil {
		return 0, err
	}
	if held := r.statuses.Hold(s.pool.UID, s.now, statusPause); held > 0 && !isUrgent(s, r.limits) {
		return held, nil
	}
	r.statuses.Forget(s.pool.UID)
	fingerprint, err := names.Fingerprint(wanted)
	if err != nil {
		return 0, err
	}
	r.echoes.Writes(s.pool.UID, fingerprint)
	target := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.pool.Name}}
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, body))
	if err != nil {
		// It may have taken effect all the same, or still will, and the next pass may not see that: its event must wake another.
		r.echoes.Forget(s.pool.UID)
	}
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("patching the status of SandboxWarmPool %q: %w", s.pool.Name, err)
	}
	events.Tell(r.recorder, s.pool, d.errors, statusEvents(s.pool.Status, wanted)...)
	return 0, nil
}

// isUrgent says whether a status is not held back: the first, and one that tells that members have had their time in vain, since
// they go in the same pass.
func isUrgent(s seen, limits Limits) bool {
	return s.pool.Status.ObservedGeneration == 0 || s.isOutOfTime(limits) && !s.wasStuck()
}

// desiredStatus is the whole status of the pool, from what is so now.
func desiredStatus(s seen, limits Limits, d done) extensionsv1beta1.SandboxWarmPoolStatus {
	status := extensionsv1beta1.SandboxWarmPoolStatus{
		Replicas:           int32(min(len(s.members)+len(d.created), 1<<31-1)), //nolint:gosec // Bounded.
		Selector:           sandboxv1beta1.LabelWarmPool + "=" + names.Hash(s.pool.Name),
		ObservedGeneration: s.pool.Generation,
	}
	for _, member := range s.standing() {
		if s.isReady(member) {
			status.ReadyReplicas++
			if s.template != nil && s.isFresh(member) {
				status.UpdatedReadyReplicas++
			}
		}
	}
	progressing := progressingCondition(s, limits, d)
	progressing.Type, progressing.ObservedGeneration = extensionsv1beta1.ConditionProgressing, s.pool.Generation
	status.Conditions = conditions.Settle([]string{extensionsv1beta1.ConditionProgressing}, s.pool.Status.Conditions,
		[]metav1.Condition{progressing}, metav1.NewTime(s.now))
	return status
}

// statusEvents tell that the pool has stopped to come nearer to its replicas, and that it does again.
func statusEvents(before, after extensionsv1beta1.SandboxWarmPoolStatus) []events.Event {
	was := meta.FindStatusCondition(before.Conditions, extensionsv1beta1.ConditionProgressing)
	is := meta.FindStatusCondition(after.Conditions, extensionsv1beta1.ConditionProgressing)
	switch {
	case is.Status == metav1.ConditionFalse && (was == nil || was.Status != is.Status):
		return []events.Event{events.Warning(extensionsv1beta1.ReasonWarmPoolNotProgressing, "Fill", is.Message)}
	case is.Status == metav1.ConditionTrue && was != nil && was.Status != is.Status:
		return []events.Event{events.Normal(extensionsv1beta1.ReasonWarmPoolProgressing, "Fill", is.Message)}
	}
	return nil
}

func createFailures(d done) []events.Event {
	for _, err := range d.errors {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return []events.Event{events.Warning(extensionsv1beta1.EventSandboxCreateFailed, "Fill", err.Error())}
		}
	}
	return nil
}
