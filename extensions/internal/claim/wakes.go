package claim

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// watches say what wakes which claims. What a claim waits for wakes it by its event.
func (r *Reconciler) watches(b *builder.Builder) *builder.Builder {
	gained := r.newGains()
	return b.
		For(&extensionsv1beta1.SandboxClaim{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.ClaimChanged, DeleteFunc: r.claimGone})).
		Watches(&sandboxv1beta1.Sandbox{}, r.sandboxHandler(gained)).
		WatchesRawSource(gained).
		Watches(&extensionsv1beta1.SandboxWarmPool{}, handler.EnqueueRequestsFromMapFunc(r.ThoseOfPool), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&extensionsv1beta1.SandboxTemplate{}, handler.EnqueueRequestsFromMapFunc(r.ThoseOfTemplate), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
}

// ClaimChanged says whether an update of a claim is one to act on. What this process writes itself is none: status and
// annotations. Except that a claim has lost its Sandbox: only once the cache shows that do changes of its pool wake it, and it
// may have missed one. A status that somebody else wrote, or that nobody has answered for, is put right.
func (r *Reconciler) ClaimChanged(e event.UpdateEvent) bool {
	return isUnbound(e.ObjectNew) && !isUnbound(e.ObjectOld) ||
		r.isForeignStatus(e) ||
		e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// claimGone drops what is counted by the claim's UID, which no later pass would know.
func (r *Reconciler) claimGone(e event.DeleteEvent) bool {
	r.metrics.forget(e.Object.GetUID())
	return true
}

// isForeignStatus says whether an update brings a status that this process did not write last.
func (r *Reconciler) isForeignStatus(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*extensionsv1beta1.SandboxClaim)
	after, ok2 := e.ObjectNew.(*extensionsv1beta1.SandboxClaim)
	if !ok || !ok2 || equality.Semantic.DeepEqual(before.Status, after.Status) {
		return false
	}
	status, err := names.Fingerprint(after.Status)
	return err != nil || !r.echoes.IsEcho(client.ObjectKeyFromObject(after), status)
}

func isUnbound(obj client.Object) bool {
	claim, ok := obj.(*extensionsv1beta1.SandboxClaim)
	return ok && claim.Status.Sandbox.Name == ""
}

// sandboxHandler wakes the claims that a change of a Sandbox concerns, and tells which pools have gained a member.
func (r *Reconciler) sandboxHandler(gained *gains) handler.EventHandler {
	wake := func(before, after client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		was, _ := before.(*sandboxv1beta1.Sandbox)
		is, _ := after.(*sandboxv1beta1.Sandbox)
		for _, request := range concerned(was, is) {
			queue.Add(request)
		}
		if pool, ok := poolThatGains(was, is); ok {
			gained.pools.Add(pool)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(nil, e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(e.Object, nil, q)
		},
	}
}

// WokenBy are the claims that a change of a Sandbox wakes; was is nil for one that has come, is for one that is gone. A member that
// can be taken now wakes the claims that wait for one, which in a controller that runs happens a little later.
func (r *Reconciler) WokenBy(ctx context.Context, was, is *sandboxv1beta1.Sandbox) []reconcile.Request {
	requests := concerned(was, is)
	if pool, ok := poolThatGains(was, is); ok {
		requests = append(requests, r.couldTake(ctx, pool)...)
	}
	return requests
}

// concerned are the claims that a Sandbox is the business of. The claim that controls it wakes, whatever that one knows of it. One
// that is gone may have stood in the way of a claim of its name.
func concerned(was, is *sandboxv1beta1.Sandbox) []reconcile.Request {
	var requests []reconcile.Request
	if is == nil {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(was)})
	}
	if was != nil && is != nil && !isTold(was, is) {
		return nil
	}
	for _, sandbox := range []*sandboxv1beta1.Sandbox{was, is} {
		if owner, ok := claimOf(sandbox); ok && !slices.Contains(requests, owner) {
			requests = append(requests, owner)
		}
	}
	return requests
}

func claimOf(sandbox *sandboxv1beta1.Sandbox) (reconcile.Request, bool) {
	if sandbox == nil {
		return reconcile.Request{}, false
	}
	ref, ok := ownership.ControllerOf(sandbox, index.ClaimKind())
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: sandbox.Namespace, Name: ref.Name}}, ok
}

// poolThatGains is the pool of a Sandbox that can be taken and could not before.
func poolThatGains(was, is *sandboxv1beta1.Sandbox) (types.NamespacedName, bool) {
	if is == nil || was != nil && candidates.IsCandidate(was) || !candidates.IsCandidate(is) {
		return types.NamespacedName{}, false
	}
	ref, pooled := ownership.ControllerOf(is, index.PoolKind())
	return types.NamespacedName{Namespace: is.Namespace, Name: ref.Name}, pooled
}

// isTold says whether a change of a Sandbox is one that claims tell about: of its owner, its end, its IPs or the conditions that
// a claim mirrors.
func isTold(was, is *sandboxv1beta1.Sandbox) bool {
	return was.UID != is.UID ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(metav1.GetControllerOfNoCopy(was), metav1.GetControllerOfNoCopy(is)) ||
		!equality.Semantic.DeepEqual(was.Status.PodIPs, is.Status.PodIPs) ||
		conditionChanged(was, is, sandboxv1beta1.ConditionReady) ||
		conditionChanged(was, is, sandboxv1beta1.ConditionFinished)
}

func conditionChanged(before, after *sandboxv1beta1.Sandbox, kind string) bool {
	return !equality.Semantic.DeepEqual(
		meta.FindStatusCondition(before.Status.Conditions, kind), meta.FindStatusCondition(after.Status.Conditions, kind))
}

// ThoseOfPool are the claims without a Sandbox that name the pool.
func (r *Reconciler) ThoseOfPool(ctx context.Context, pool client.Object) []reconcile.Request {
	return r.unbound(ctx, pool.GetNamespace(), pool.GetName())
}

// ThoseOfTemplate are the claims without a Sandbox whose pool names the template.
func (r *Reconciler) ThoseOfTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	pools, err := index.PoolsOfTemplate(ctx, r.client, template)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Waking the claims of a template", "template", template.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range pools {
		requests = append(requests, r.unbound(ctx, template.GetNamespace(), pools[i].Name)...)
	}
	return requests
}

func (r *Reconciler) unbound(ctx context.Context, namespace, pool string) []reconcile.Request {
	claims, err := index.UnboundOfPool(ctx, r.client, namespace, pool)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Waking the claims of a pool", "pool", pool)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(claims))
	for i := range claims {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&claims[i])})
	}
	return requests
}
