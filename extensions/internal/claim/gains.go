package claim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
)

// gains wakes the claims of pools that have gained a member. It does so beside the handler that hears of members: ten thousand claims
// take a while to look through, in which the events of all namespaces would wait. A pool that gains several meanwhile is looked at
// once. It is a source of the controller's requests.
type gains struct {
	pools    *workqueue.Typed[types.NamespacedName]
	wakeable func(context.Context, types.NamespacedName) []reconcile.Request
}

func (r *Reconciler) newGains() *gains {
	return &gains{pools: workqueue.NewTyped[types.NamespacedName](), wakeable: r.couldTake}
}

// Start wakes until ctx ends.
func (g *gains) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	context.AfterFunc(ctx, g.pools.ShutDown)
	go g.work(ctx, queue)
	return nil
}

func (g *gains) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for pool, shutdown := g.pools.Get(); !shutdown; pool, shutdown = g.pools.Get() {
		for _, request := range g.wakeable(ctx, pool) {
			queue.Add(request)
		}
		g.pools.Done(pool)
	}
}

// couldTake are the claims that wait for a Sandbox and that a member of their pool could serve.
func (r *Reconciler) couldTake(ctx context.Context, pool types.NamespacedName) []reconcile.Request {
	claims, err := index.UnboundOfPool(ctx, r.client, pool.Namespace, pool.Name)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Waking the claims of a pool", "pool", pool.Name)
		return nil
	}
	var requests []reconcile.Request
	for i := range claims {
		if !isBarred(&claims[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&claims[i])})
		}
	}
	return requests
}

// isBarred says whether no member can serve a claim as it is: it needs a cold start, or was refused for what it asks. Its own change,
// or that of its template or pool, wakes it.
func isBarred(claim *extensionsv1beta1.SandboxClaim) bool {
	ready := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return coldStartNeed(claim) != "" ||
		ready != nil && ready.ObservedGeneration == claim.Generation && ready.Reason == extensionsv1beta1.ReasonInvalidMetadata
}
