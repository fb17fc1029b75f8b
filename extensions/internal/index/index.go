// Package index names what the controllers of the extensions look things up by in the cache.
package index

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// Names of the indexes.
const (
	// SandboxesByClaim finds Sandboxes by the UID of the claim that controls them.
	SandboxesByClaim = "claim-uid"
	// MembersByPool finds Sandboxes by the UID of the pool that controls them.
	MembersByPool = "pool-uid"
	// OrphansByPool finds Sandboxes that nobody controls by the label of the pool that they say to be of.
	OrphansByPool = "orphan-pool"
	// UnboundByPool finds the claims that want a Sandbox and have published none by the name of their pool.
	UnboundByPool = "unbound-pool"
	// PoolsByTemplate finds pools by the name of their template.
	PoolsByTemplate = "template"
)

// Index is one of them.
type Index struct {
	Of   client.Object
	Name string
	By   client.IndexerFunc
}

// All returns every index.
func All() []Index {
	return []Index{
		{&sandboxv1beta1.Sandbox{}, SandboxesByClaim, ownership.IndexByController(ClaimKind())},
		{&sandboxv1beta1.Sandbox{}, MembersByPool, ownership.IndexByController(PoolKind())},
		{&sandboxv1beta1.Sandbox{}, OrphansByPool, orphansByPool},
		{&extensionsv1beta1.SandboxClaim{}, UnboundByPool, unboundByPool},
		{&extensionsv1beta1.SandboxWarmPool{}, PoolsByTemplate, poolsByTemplate},
	}
}

// Add registers every index.
func Add(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range All() {
		if err := indexer.IndexField(ctx, index.Of, index.Name, index.By); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Of, index.Name, err)
		}
	}
	return nil
}

// PoolsOfTemplate are the pools that name a template, as the cache shows them: they are not to be changed.
func PoolsOfTemplate(ctx context.Context, cached client.Reader, template client.Object) ([]extensionsv1beta1.SandboxWarmPool, error) {
	var pools extensionsv1beta1.SandboxWarmPoolList
	if err := list(ctx, cached, &pools, template.GetNamespace(), PoolsByTemplate, template.GetName()); err != nil {
		return nil, fmt.Errorf("listing the pools of SandboxTemplate %q: %w", template.GetName(), err)
	}
	return pools.Items, nil
}

// PoolsOf are the pools of a namespace, as the cache shows them: they are not to be changed.
func PoolsOf(ctx context.Context, cached client.Reader, namespace string) ([]extensionsv1beta1.SandboxWarmPool, error) {
	var pools extensionsv1beta1.SandboxWarmPoolList
	err := cached.List(ctx, &pools, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the SandboxWarmPools of namespace %q: %w", namespace, err)
	}
	return pools.Items, nil
}

// OrphansOfPool are the Sandboxes that carry the label of a pool of that name and that nobody controls, as the cache shows them:
// they are not to be changed.
func OrphansOfPool(ctx context.Context, cached client.Reader, namespace, pool string) ([]sandboxv1beta1.Sandbox, error) {
	var orphans sandboxv1beta1.SandboxList
	if err := list(ctx, cached, &orphans, namespace, OrphansByPool, names.Hash(pool)); err != nil {
		return nil, fmt.Errorf("listing the orphans of SandboxWarmPool %q: %w", pool, err)
	}
	return orphans.Items, nil
}

// UnboundOfPool are the claims that name a pool, want a Sandbox and have published none, as the cache shows them: they are not to be changed.
func UnboundOfPool(ctx context.Context, cached client.Reader, namespace, pool string) ([]extensionsv1beta1.SandboxClaim, error) {
	var claims extensionsv1beta1.SandboxClaimList
	if err := list(ctx, cached, &claims, namespace, UnboundByPool, pool); err != nil {
		return nil, fmt.Errorf("listing the claims of SandboxWarmPool %q: %w", pool, err)
	}
	return claims.Items, nil
}

func list(ctx context.Context, cached client.Reader, into client.ObjectList, namespace, index, value string) error {
	return cached.List(ctx, into, client.InNamespace(namespace), client.MatchingFields{index: value},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
}

// ClaimKind is the kind of claims.
func ClaimKind() schema.GroupKind {
	return schema.GroupKind{Group: extensionsv1beta1.GroupName, Kind: extensionsv1beta1.SandboxClaimKind}
}

// PoolKind is the kind of pools.
func PoolKind() schema.GroupKind {
	return schema.GroupKind{Group: extensionsv1beta1.GroupName, Kind: extensionsv1beta1.SandboxWarmPoolKind}
}

// TemplateKind is the kind of templates.
func TemplateKind() schema.GroupKind {
	return schema.GroupKind{Group: extensionsv1beta1.GroupName, Kind: extensionsv1beta1.SandboxTemplateKind}
}

func orphansByPool(obj client.Object) []string {
	pool := obj.GetLabels()[sandboxv1beta1.LabelWarmPool]
	if pool == "" || metav1.GetControllerOfNoCopy(obj) != nil {
		return nil
	}
	return []string{pool}
}

func unboundByPool(obj client.Object) []string {
	claim, ok := obj.(*extensionsv1beta1.SandboxClaim)
	if !ok || claim.Status.Sandbox.Name != "" || isOver(claim) {
		return nil
	}
	return []string{claim.Spec.WarmPoolRef.Name}
}

// isOver says whether a claim is on its way out, or has told that it expired by the spec that it has.
func isOver(claim *extensionsv1beta1.SandboxClaim) bool {
	ready := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return claim.DeletionTimestamp != nil ||
		ready != nil && ready.Reason == extensionsv1beta1.ReasonClaimExpired && ready.ObservedGeneration == claim.Generation
}

func poolsByTemplate(obj client.Object) []string {
	pool, ok := obj.(*extensionsv1beta1.SandboxWarmPool)
	if !ok {
		return nil
	}
	return []string{pool.Spec.SandboxTemplateRef.Name}
}
