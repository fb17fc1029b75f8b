package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/claim"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/extensions/internal/warmpool"
)

// What a test needs to put itself between the claims and the members that they take.
type (
	// Candidates are the members that can be taken.
	Candidates = candidates.Candidates
	// Member is one of them.
	Member = candidates.Member
	// Members are what claims see of them.
	Members = claim.Members
)

// Indexes returns every index of the caches that the controllers read.
func Indexes() []index.Index { return index.All() }

// Served says whether an update of a claim wakes its pool.
func Served(e event.UpdateEvent) bool { return warmpool.Served(e) }

// PoolOfClaim is the pool that a claim wakes.
func PoolOfClaim(ctx context.Context, obj client.Object) []reconcile.Request {
	return warmpool.PoolOfClaim(ctx, obj)
}
