package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

// observe reads everything that a decision about the claim rests on.
func (r *Reconciler) observe(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) (seen, error) {
	s := seen{now: r.clock.Now(), claim: claim, domains: r.domains, trace: telemetry.Carry(ctx)}
	if err := r.observeOwned(ctx, &s); err != nil {
		return s, err
	}
	if err := r.observePublished(ctx, &s); err != nil {
		return s, err
	}
	if s.expired() || s.published() != nil || s.publishable() != nil {
		return s, nil
	}
	return s, r.observePool(ctx, &s)
}

// observeOwned lists what the claim controls, in a view that shows this process's last write for it.
func (r *Reconciler) observeOwned(ctx context.Context, s *seen) error {
	last, pending := r.lastWrites.Of(s.key())
	var written *sandboxv1beta1.Sandbox
	if pending {
		reader := client.Reader(r.client)
		if last.Unanswered {
			reader = r.live
		}
		sandbox := &sandboxv1beta1.Sandbox{}
		found, err := consistency.Find(ctx, reader, last.Object, sandbox)
		if err != nil {
			return fmt.Errorf("reading Sandbox %q, which was written last for this claim: %w", last.Object.Name, err)
		}
		if found && metav1.IsControlledBy(sandbox, s.claim) {
			written = sandbox
		}
	}
	var owned sandboxv1beta1.SandboxList
	err := r.client.List(ctx, &owned, client.InNamespace(s.claim.Namespace),
		client.MatchingFields{index.SandboxesByClaim: string(s.claim.UID)},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("listing the Sandboxes of claim %q: %w", s.claim.Name, err)
	}
	for i := range owned.Items {
		s.owned = append(s.owned, &owned.Items[i])
	}
	shown := written == nil || slices.ContainsFunc(s.owned, func(o *sandboxv1beta1.Sandbox) bool { return o.UID == written.UID })
	if !shown {
		s.owned = append(s.owned, written)
	} else if pending {
		r.lastWrites.Forget(s.key())
	}
	slices.SortFunc(s.owned, byAge)
	return nil
}

func byAge(a, b *sandboxv1beta1.Sandbox) int {
	if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
		return order
	}
	return cmp.Compare(a.Name, b.Name)
}

// observePublished looks for the published Sandbox at the API server where the cache does not show it as the claim's.
func (r *Reconciler) observePublished(ctx context.Context, s *seen) error {
	name := s.claim.Status.Sandbox.Name
	if name == "" || s.published() != nil {
		return nil
	}
	sandbox := &sandboxv1beta1.Sandbox{}
	found, err := consistency.Find(ctx, r.live, types.NamespacedName{Namespace: s.claim.Namespace, Name: name}, sandbox)
	if err != nil {
		return fmt.Errorf("reading Sandbox %q, which this claim has published: %w", name, err)
	}
	if found && metav1.IsControlledBy(sandbox, s.claim) {
		s.owned = append(s.owned, sandbox)
		return nil
	}
	s.replaced = true
	return nil
}

func (r *Reconciler) observePool(ctx context.Context, s *seen) error {
	pool := &extensionsv1beta1.SandboxWarmPool{}
	key := types.NamespacedName{Namespace: s.claim.Namespace, Name: s.claim.Spec.WarmPoolRef.Name}
	found, err := consistency.Find(ctx, r.client, key, pool)
	if err != nil || !found {
		return wrap(err, "reading SandboxWarmPool %q", key.Name)
	}
	s.pool = pool
	template := &extensionsv1beta1.SandboxTemplate{}
	key.Name = pool.Spec.SandboxTemplateRef.Name
	if found, err = consistency.Find(ctx, r.client, key, template); err != nil || !found {
		return wrap(err, "reading SandboxTemplate %q", key.Name)
	}
	s.template = template
	if s.templateHash, err = blueprint.Hash(template); err != nil {
		return err
	}
	s.comesSoon = r.members.Expected(pool.UID)
	return nil
}

func isFresh(sandbox *sandboxv1beta1.Sandbox, s seen) bool {
	return blueprint.IsFresh(sandbox, s.template, s.templateHash)
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
