package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

// act carries out a plan.
func (r *Reconciler) act(ctx context.Context, s seen, p plan) done {
	d := done{claimVersion: s.claim.ResourceVersion}
	if p.refused != nil {
		d.fail(*p.refused)
	}
	if p.take != nil {
		r.take(ctx, s, *p.take, &d)
	}
	if p.create != nil && d.sandbox == nil && len(d.errors) == 0 && ctx.Err() == nil {
		r.create(ctx, s, p.create, &d)
	}
	if p.discard != nil {
		d.fail(r.discard(ctx, s, *p.discard, &d))
	}
	if p.relabel != nil {
		d.fail(r.relabel(ctx, s.claim.Namespace, *p.relabel))
	}
	if p.remove != nil {
		err := r.delete(ctx, &extensionsv1beta1.SandboxClaim{}, s.claim.Namespace, p.remove.target, p.remove.propagation)
		d.removed, d.outdated = err == nil, apierrors.IsConflict(err)
		d.fail(consistency.IgnoreMoved(err))
	}
	return d
}

// relabel is tried again where the Sandbox has changed meanwhile.
func (r *Reconciler) relabel(ctx context.Context, namespace string, wanted relabelling) error {
	body, err := json.Marshal(wanted.patch)
	if err != nil {
		return fmt.Errorf("encoding a patch of Sandbox %q: %w", wanted.name, err)
	}
	target := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wanted.name}}
	if err := r.client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, body)); consistency.IgnoreMoved(err) != nil {
		return fmt.Errorf("putting the metadata of the claim on Sandbox %q: %w", wanted.name, err)
	}
	return nil
}

// create starts a Sandbox for the claim. One of that name that stands already is the claim's own, by an earlier write whose
// answer was lost, or somebody else's.
func (r *Reconciler) create(ctx context.Context, s seen, wanted *sandboxv1beta1.Sandbox, d *done) {
	key := client.ObjectKeyFromObject(wanted)
	assigned := r.assign(ctx, s, wanted.Name, d)
	r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: key, Unanswered: true})
	err := r.client.Create(ctx, wanted)
	assigned.wait()
	switch {
	case err == nil:
		r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: key})
		d.sandbox = wanted
		return
	case refusals.IsOfObject(err):
		r.lastWrites.Forget(s.key())
		d.fail(refusal{sandboxv1beta1.ReasonInvalidConfiguration, fmt.Sprintf("creating Sandbox %q: %v", key.Name, err)})
		return
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsTooManyRequests(err):
		r.lastWrites.Forget(s.key())
		d.fail(fmt.Errorf("creating Sandbox %q: %w", key.Name, err))
		return
	}
	standing := &sandboxv1beta1.Sandbox{}
	if readErr := r.live.Get(ctx, key, standing); readErr != nil {
		d.fail(errors.Join(fmt.Errorf("creating Sandbox %q: %w", key.Name, err), consistency.IgnoreMoved(readErr)))
		return
	}
	r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: key})
	if isLeftBehind(s, standing) {
		d.fail(r.clearAway(ctx, s, standing, d))
		return
	}
	d.sandbox, err = inherited(s, standing)
	d.fail(err)
}

// isLeftBehind says whether a Sandbox belongs to an earlier claim of this name. Kubernetes' garbage collector misses it when it has
// not seen that one go: a claim that is deleted and made anew during an outage looks like a change of one and the same.
func isLeftBehind(s seen, standing *sandboxv1beta1.Sandbox) bool {
	owner, ok := ownership.ControllerOf(standing, index.ClaimKind())
	return ok && owner.Name == s.claim.Name && owner.UID != s.claim.UID && standing.DeletionTimestamp == nil
}

// clearAway deletes a Sandbox whose claim is gone: two claims of one name are never there at a time. Its end wakes the claim.
func (r *Reconciler) clearAway(ctx context.Context, s seen, leftBehind *sandboxv1beta1.Sandbox, d *done) error {
	claim := &extensionsv1beta1.SandboxClaim{}
	switch found, err := consistency.Find(ctx, r.live, s.key(), claim); {
	case err != nil:
		return fmt.Errorf("reading claim %q to learn whose Sandbox %q is: %w", s.claim.Name, leftBehind.Name, err)
	case !found || claim.UID != s.claim.UID:
		return errMoved
	}
	err := r.delete(ctx, &sandboxv1beta1.Sandbox{}, s.claim.Namespace, targetOf(leftBehind), metav1.DeletePropagationBackground)
	if d.outdated = apierrors.IsConflict(err); consistency.IgnoreMoved(err) != nil {
		return err
	}
	return refusal{extensionsv1beta1.ReasonSandboxNotReady, fmt.Sprintf("Sandbox %q of an earlier claim of this name is being deleted", leftBehind.Name)}
}

// inherited is a Sandbox that stands under the name of the claim, if it is the claim's to use. One of its own that it is not to
// publish wakes it once the cache shows it, and when it goes.
func inherited(s seen, standing *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	owner := metav1.GetControllerOfNoCopy(standing)
	own := owner != nil && owner.UID == s.claim.UID
	switch {
	case own && s.mayPublish(standing):
		return standing, nil
	case own || standing.DeletionTimestamp != nil:
		return nil, refusal{extensionsv1beta1.ReasonSandboxNotReady, fmt.Sprintf("Sandbox %q of the same name is being deleted", standing.Name)}
	case owner != nil:
		return nil, refusal{extensionsv1beta1.ReasonAdoptionConflict, fmt.Sprintf(
			"Sandbox %q exists and is controlled by %s %q: rename the claim, or delete that Sandbox and its disks", standing.Name, owner.Kind, owner.Name)}
	default:
		return nil, refusal{extensionsv1beta1.ReasonAdoptionConflict, fmt.Sprintf(
			"Sandbox %q exists and is not owned by this claim: rename the claim, or delete that Sandbox and its disks", standing.Name)}
	}
}

// discard deletes a Sandbox of the claim that nobody is to use. First the claim says so: whoever would publish that Sandbox by
// an older view of the claim is then too late.
func (r *Reconciler) discard(ctx context.Context, s seen, extra discard, d *done) error {
	if !extra.fenced {
		version := r.annotate(ctx, s.claim, apply.Metadata{
			UID: s.claim.UID, ResourceVersion: s.claim.ResourceVersion,
			Annotations: map[string]*string{extensionsv1beta1.AnnotationDiscarding: ptr.To(string(extra.target.uid))},
		})
		d.claimVersion = version
		if d.outdated = version == ""; d.outdated {
			return nil
		}
	}
	err := r.delete(ctx, &sandboxv1beta1.Sandbox{}, s.claim.Namespace, extra.target, metav1.DeletePropagationBackground)
	d.outdated = apierrors.IsConflict(err)
	return consistency.IgnoreMoved(err)
}

// delete deletes an object that still is as it was seen.
func (r *Reconciler) delete(ctx context.Context, obj client.Object, namespace string, seen target, propagation metav1.DeletionPropagation) error {
	obj.SetNamespace(namespace)
	obj.SetName(seen.name)
	err := r.client.Delete(ctx, obj, client.Preconditions{UID: &seen.uid, ResourceVersion: &seen.resourceVersion}, client.PropagationPolicy(propagation))
	if err != nil {
		return fmt.Errorf("deleting %T %q: %w", obj, seen.name, err)
	}
	return nil
}
