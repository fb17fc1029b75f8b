package claim

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
)

// verdict is how the write ended that is to make a Sandbox the claim's.
type verdict int

const (
	// won : the Sandbox is the claim's.
	won verdict = iota
	// lost : the Sandbox is gone, going, or somebody else's.
	lost
	// missed : the write did not take effect, and the Sandbox is as it was.
	missed
	// refused : no write of this kind is accepted.
	refused
	// unknown : not even a look at the API server tells.
	unknown
)

// take makes one member of the pool the claim's. It goes on with the next until one is, or none is left. Those whose write went
// astray are given back afterwards, not to meet them again in this pass.
func (r *Reconciler) take(ctx context.Context, s seen, wanted taking, d *done) {
	var astray []types.UID
	defer func() {
		for _, uid := range astray {
			r.members.Return(uid)
		}
	}()
	for ctx.Err() == nil {
		member, ok := r.members.Take(wanted.pool, func(m candidates.Member) bool { return m.Key.Namespace == wanted.namespace })
		if !ok {
			return
		}
		sandbox, ended, err := r.tryMember(ctx, s, wanted, member, d)
		switch ended {
		case won:
			d.sandbox = sandbox
			return
		case lost:
			r.members.Forget(member.UID)
		case missed:
			astray = append(astray, member.UID)
		default:
			r.members.Return(member.UID)
			d.fail(err)
			return
		}
	}
}

// tryMember tries one member, seen once more in the cache.
func (r *Reconciler) tryMember(ctx context.Context, s seen, wanted taking, member candidates.Member, d *done) (*sandboxv1beta1.Sandbox, verdict, error) {
	cached := &sandboxv1beta1.Sandbox{}
	err := r.client.Get(ctx, member.Key, cached)
	switch {
	case apierrors.IsNotFound(err), err == nil && !isMember(cached, member.UID, wanted.pool):
		return nil, lost, nil
	case err != nil:
		return nil, unknown, fmt.Errorf("reading Sandbox %q: %w", member.Key.Name, err)
	case wanted.freshOnly && !isFresh(cached, s):
		return nil, lost, nil
	}
	assigned := r.assign(ctx, s, member.Key.Name, d)
	sandbox, ended, err := r.commit(ctx, s, wanted.pool, cached)
	if ended == won {
		// At once: another try of the same member may be about to give it back.
		r.members.Written(member.UID, sandbox.ResourceVersion)
	}
	assigned.wait()
	return sandbox, ended, err
}

// commit is the one write that decides whose the Sandbox is.
func (r *Reconciler) commit(ctx context.Context, s seen, pool types.UID, member *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, verdict, error) {
	patch, err := adoption(s, member, pool)
	if err != nil {
		return nil, lost, nil
	}
	key := client.ObjectKeyFromObject(member)
	r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: key, Unanswered: true})
	result := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = r.client.Patch(ctx, result, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: key})
		return result, won, nil
	}
	err = fmt.Errorf("adopting Sandbox %q: %w", key.Name, err)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		r.lastWrites.Forget(s.key())
		return nil, lost, nil
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsTooManyRequests(err):
		r.lastWrites.Forget(s.key())
		return nil, refused, err
	}
	return r.look(ctx, s, pool, member, err)
}

// look asks the API server what became of a commit that failed with err: a test that did not hold and a refused object both
// answer 422, and after a time-out nobody knows.
func (r *Reconciler) look(ctx context.Context, s seen, pool types.UID, member *sandboxv1beta1.Sandbox, err error) (*sandboxv1beta1.Sandbox, verdict, error) {
	live := &sandboxv1beta1.Sandbox{}
	readErr := r.live.Get(ctx, client.ObjectKeyFromObject(member), live)
	switch {
	case apierrors.IsNotFound(readErr):
		r.lastWrites.Forget(s.key())
		return nil, lost, nil
	case readErr != nil:
		return nil, unknown, errors.Join(err, fmt.Errorf("reading Sandbox %q to learn whether it was adopted: %w", member.Name, readErr))
	case live.UID == member.UID && metav1.IsControlledBy(live, s.claim):
		r.lastWrites.Record(s.key(), consistency.Write[types.NamespacedName]{Object: client.ObjectKeyFromObject(live)})
		return live, won, nil
	case !isMember(live, member.UID, pool):
		r.lastWrites.Forget(s.key())
		return nil, lost, nil
	case apierrors.IsInvalid(err) && equality.Semantic.DeepEqual(live.OwnerReferences, member.OwnerReferences) &&
		equality.Semantic.DeepEqual(live.Labels, member.Labels):
		r.lastWrites.Forget(s.key())
		return nil, refused, err
	default:
		// What the patch rests on may have moved: the next one is made from a newer view.
		return nil, missed, nil
	}
}

// isMember says whether a Sandbox is the one with that UID, the pool's, and there to stay.
func isMember(sandbox *sandboxv1beta1.Sandbox, uid, pool types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(sandbox)
	return sandbox.UID == uid && sandbox.DeletionTimestamp == nil && ref != nil && ref.UID == pool
}
