package warmpool

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
)

const (
	// longestYield is how long a refill gives way to claims at most.
	longestYield = 5 * time.Second
	// lowShare is the share of a pool below which it is refilled first: a fifth.
	lowShare = 5
)

// observe reads everything that a decision about the pool rests on.
func (r *Reconciler) observe(ctx context.Context, pool *extensionsv1beta1.SandboxWarmPool) (seen, error) {
	s := seen{now: r.clock.Now(), pool: pool, available: r.members.Count(pool.UID)}
	template := &extensionsv1beta1.SandboxTemplate{}
	key := types.NamespacedName{Namespace: pool.Namespace, Name: pool.Spec.SandboxTemplateRef.Name}
	found, err := consistency.Find(ctx, r.client, key, template)
	if err != nil {
		return s, fmt.Errorf("reading SandboxTemplate %q: %w", key.Name, err)
	}
	if found {
		s.template = template
		if s.templateHash, err = blueprint.Hash(template); err != nil {
			return s, err
		}
	}
	if err := r.observeMembers(ctx, &s); err != nil {
		return s, err
	}
	s.arrived = r.arrivals.Last(pool.UID, s.templateHash)
	s.closed = r.closedOff(s)
	orphans, err := index.OrphansOfPool(ctx, r.client, pool.Namespace, pool.Name)
	if err != nil {
		return s, err
	}
	for i := range orphans {
		s.orphans = append(s.orphans, orphans[i].Name)
	}
	slices.Sort(s.orphans)
	waiting, err := index.UnboundOfPool(ctx, r.client, pool.Namespace, pool.Name)
	if err != nil {
		return s, err
	}
	s.waiting = len(waiting)
	s.yielded = r.yield(s)
	s.tokens, s.nextToken = r.buckets.Tokens(pool.UID, s.now)
	has := stock{standing: len(s.standing()), pending: len(s.pending), replicas: s.replicas()}
	s.held, s.heldFor = r.losses.Hold(pool.UID, has, s.now)
	return s, nil
}

// observeMembers lists the members in a view that shows every write of this process, and looks at the API server for those
// whose creation nobody has answered for.
func (r *Reconciler) observeMembers(ctx context.Context, s *seen) error {
	var members sandboxv1beta1.SandboxList
	err := r.client.List(ctx, &members, client.InNamespace(s.pool.Namespace),
		client.MatchingFields{index.MembersByPool: string(s.pool.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the members of SandboxWarmPool %q: %w", s.pool.Name, err)
	}
	for i := range members.Items {
		s.members = append(s.members, &members.Items[i])
	}
	for _, name := range r.unanswered.Of(s.pool.UID) {
		if slices.ContainsFunc(s.members, func(m *sandboxv1beta1.Sandbox) bool { return m.Name == name }) {
			r.unanswered.Settle(s.pool.UID, name)
			continue
		}
		if err := r.lookFor(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

// closedOff are the members that are Ready on a node that nobody is handed out from, and since when.
func (r *Reconciler) closedOff(s seen) map[types.UID]time.Time {
	var closed []types.UID
	for _, member := range s.standing() {
		if isStarted(member) && !isAdmitted(member, r.members) {
			closed = append(closed, member.UID)
		}
	}
	return r.closures.Since(s.pool.UID, closed, s.now)
}

// lookFor asks the API server for a member that may have been made.
func (r *Reconciler) lookFor(ctx context.Context, s *seen, name string) error {
	sandbox := &sandboxv1beta1.Sandbox{}
	found, err := consistency.Find(ctx, r.live, types.NamespacedName{Namespace: s.pool.Namespace, Name: name}, sandbox)
	switch {
	case err != nil:
		return fmt.Errorf("reading Sandbox %q to learn whether it was created: %w", name, err)
	case !found:
		s.pending = append(s.pending, name)
		return nil
	case metav1.IsControlledBy(sandbox, s.pool):
		// Until the cache shows it, it is looked for again.
		s.members = append(s.members, sandbox)
		return nil
	default:
		r.unanswered.Settle(s.pool.UID, name)
		return nil
	}
}

// yield is how much longer the refill gives way to claims that can be served: a write for the refill is one that they wait for.
func (r *Reconciler) yield(s seen) time.Duration {
	if s.waiting == 0 || s.available*lowShare <= s.replicas() {
		r.yields.Forget(s.pool.UID)
		return 0
	}
	return r.yields.Hold(s.pool.UID, s.now, longestYield)
}
