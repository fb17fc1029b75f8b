package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/reconcile"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

// pauseOutdated is how soon a claim is decided about anew of which something has changed meanwhile.
const pauseOutdated = 50 * time.Millisecond

// errMoved says that the claim is no longer as it was seen, so that nothing was written.
var errMoved = errors.New("the claim has changed since it was read")

// report publishes what the claim has: its status, if it changed, and its Events. errMoved asks for another pass on the claim
// as it is now.
func (r *Reconciler) report(ctx context.Context, s seen, p plan, d done) (reconcile.Outcome, error) {
	if d.removed {
		return reconcile.Done(), nil
	}
	wanted := desiredStatus(s, d)
	body, err := apply.StatusAt(d.claimVersion, s.claim.Status, wanted)
	switch {
	case err != nil:
		return reconcile.Failed(err), nil
	case body != nil && d.claimVersion == "":
		return reconcile.Outcome{}, errMoved
	case body != nil:
		if err := r.publish(ctx, s, wanted, body); err != nil {
			return reconcile.Outcome{}, err
		}
		r.metrics.count(s, d, wanted, r.clock.Now())
	}
	events.Tell(r.recorder, s.claim, d.errors, statusEvents(s, d, wanted)...)
	if at, ok := expiry(s.claim.Spec.Lifecycle, wanted.Conditions); ok && !s.expired() {
		// What is told in this pass may be what it expires by; it is acted on once it is stored.
		p.wakeWithin(max(at.Sub(s.now), pauseOutdated))
	}
	return outcome(p, d), nil
}

func (r *Reconciler) publish(ctx context.Context, s seen, wanted extensionsv1beta1.SandboxClaimStatus, body []byte) error {
	key := client.ObjectKeyFromObject(s.claim)
	fingerprint, err := names.Fingerprint(wanted)
	if err != nil {
		return err
	}
	r.echoes.Writes(key, fingerprint)
	target := &extensionsv1beta1.SandboxClaim{}
	target.Namespace, target.Name = s.claim.Namespace, s.claim.Name
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, body))
	if err != nil {
		// It may have taken effect all the same, or still will, and the next pass may not see that: its event must wake another.
		r.echoes.Forget(key)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errMoved
	case err != nil:
		return fmt.Errorf("patching the status of claim %q: %w", s.claim.Name, err)
	}
	return nil
}

// outcome says what wakes the claim next.
func outcome(p plan, d done) reconcile.Outcome {
	wake := p.wake
	if d.outdated || p.again {
		wake = pauseOutdated
	}
	var stalled refusal
	err := errors.Join(d.errors...)
	switch {
	case err == nil:
		return reconcile.Wait(wake)
	case refusals.IsNamespaceGoing(err):
		return reconcile.Stalled(extensionsv1beta1.ReasonReconcilerError)
	case errors.As(err, &stalled) && len(d.errors) == 1:
		if wake > 0 {
			return reconcile.Wait(wake)
		}
		return reconcile.Stalled(stalled.reason)
	default:
		return reconcile.Failed(err)
	}
}

// desiredStatus is the whole status of the claim, from what is so now.
func desiredStatus(s seen, d done) extensionsv1beta1.SandboxClaimStatus {
	if s.expired() {
		return extensionsv1beta1.SandboxClaimStatus{Conditions: claimConditions(s, d, nil)}
	}
	sandbox := bound(s, d)
	status := extensionsv1beta1.SandboxClaimStatus{Conditions: claimConditions(s, d, sandbox)}
	switch {
	case sandbox != nil:
		status.Sandbox = extensionsv1beta1.ClaimedSandbox{Name: sandbox.Name, PodIPs: sandbox.Status.PodIPs}
	case !s.replaced && len(d.errors) > 0:
		// What could not be read does not take away what was published.
		status.Sandbox = s.claim.Status.Sandbox
	}
	return status
}

// bound is the claim's Sandbox as far as this pass knows; nil without one.
func bound(s seen, d done) *sandboxv1beta1.Sandbox {
	if d.sandbox != nil {
		return d.sandbox
	}
	if published := s.published(); published != nil {
		return published
	}
	return s.publishable()
}

// isNewlyBound says whether the status names a Sandbox that the claim did not have before, be it of the same name.
func isNewlyBound(s seen, d done, wanted extensionsv1beta1.SandboxClaimStatus) bool {
	name := wanted.Sandbox.Name
	return name != "" && (name != s.claim.Status.Sandbox.Name || s.replaced && d.sandbox != nil)
}

// statusEvents tell what the status says for the first time. A Sandbox that takes the place of a lost one is told though it has the
// same name.
func statusEvents(s seen, d done, wanted extensionsv1beta1.SandboxClaimStatus) []events.Event {
	var told []events.Event
	before := s.claim.Status.Sandbox.Name
	sandbox := bound(s, d)
	if s.replaced && !s.expired() && (wanted.Sandbox.Name == "" || isNewlyBound(s, d, wanted)) {
		told = append(told, events.Warning(extensionsv1beta1.EventSandboxReplaced, "Bind", fmt.Sprintf("Sandbox %q is gone, or no longer this claim's", before)))
	}
	if kept := s.published(); kept != nil && s.isNewGeneration() {
		if refused := refusedEdit(s, kept); refused != nil {
			told = append(told, events.Warning(refused.Reason, "Label", refused.Message))
		}
	}
	switch {
	case s.expired() && !s.expiryStored():
		told = append(told, events.Normal(extensionsv1beta1.ReasonClaimExpired, "Expire", messageExpired))
	case sandbox == nil || !isNewlyBound(s, d, wanted):
	case sandbox.Labels[sandboxv1beta1.LabelLaunchType] == sandboxv1beta1.LaunchTypeWarm:
		told = append(told, events.Normal(extensionsv1beta1.EventSandboxAdopted, "Bind",
			fmt.Sprintf("Took Sandbox %q from SandboxWarmPool %q", sandbox.Name, poolOf(sandbox, s.claim))))
	default:
		told = append(told, events.Normal(extensionsv1beta1.EventSandboxProvisioned, "Bind", provisioned(sandbox)))
	}
	return told
}
