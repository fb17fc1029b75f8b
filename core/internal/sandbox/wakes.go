package sandbox

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/quota"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// Wakes leaves out the event that our own write of a status brings back, unless it tells of another change as well, as after
// a watch that was broken off. A status that somebody else wrote is put right at once: clients route by it.
func (r *Reconciler) Wakes() predicate.Predicate {
	foreign := predicate.Funcs{UpdateFunc: func(change event.UpdateEvent) bool {
		sandbox, ok := change.ObjectNew.(*sandboxv1beta1.Sandbox)
		if !ok {
			return true
		}
		status, err := names.Fingerprint(sandbox.Status)
		return err != nil || !r.echoes.IsEcho(client.ObjectKeyFromObject(sandbox), status)
	}}
	return predicate.Or[client.Object](foreign,
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// ByOwnerName wakes the Sandbox of the name that the controller reference gives: the owner itself, or its successor, who waits for
// what its predecessor left.
func ByOwnerName(_ context.Context, obj client.Object) []reconcile.Request {
	ref, ok := ownership.ControllerOf(obj, sandboxKind())
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}}}
}

// ByOwnerOrOwnName wakes the owner; without one, the Sandbox in whose way an object of its name stands.
func (r *Reconciler) ByOwnerOrOwnName(ctx context.Context, obj client.Object) []reconcile.Request {
	if requests := ByOwnerName(ctx, obj); requests != nil {
		return requests
	}
	key := client.ObjectKeyFromObject(obj)
	err := r.client.Get(ctx, key, &sandboxv1beta1.Sandbox{}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil // no such Sandbox
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// thoseLimited wakes the Sandboxes of a namespace that a ResourceQuota or a LimitRange blocks.
func (r *Reconciler) thoseLimited(ctx context.Context, limit client.Object) []reconcile.Request {
	return r.thoseWaitingFor(ctx, waitsForQuota, client.InNamespace(limit.GetNamespace()))
}

// thoseOfRuntimeClass wakes the Sandboxes that wait for a RuntimeClass to exist.
func (r *Reconciler) thoseOfRuntimeClass(ctx context.Context, class client.Object) []reconcile.Request {
	return r.thoseWaitingFor(ctx, waitsForRuntimeClass(class.GetName()))
}

func (r *Reconciler) thoseWaitingFor(ctx context.Context, what string, where ...client.ListOption) []reconcile.Request {
	var waiting sandboxv1beta1.SandboxList
	err := r.client.List(ctx, &waiting, append(where, client.MatchingFields{obstacleIndex: what},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)...)
	if err != nil {
		log.FromContext(ctx).Error(err, "Sandboxes that an obstacle blocks are not woken; each tries again by itself", "obstacle", what)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(waiting.Items))
	for i := range waiting.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&waiting.Items[i])})
	}
	return requests
}

// makesRoom leaves out the events of a ResourceQuota after which it allows no more than before.
func makesRoom() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(change event.UpdateEvent) bool {
			before, okBefore := change.ObjectOld.(*corev1.ResourceQuota)
			after, okAfter := change.ObjectNew.(*corev1.ResourceQuota)
			return okBefore && okAfter && quota.MakesRoom(before, after)
		},
	}
}

// appears leaves out everything but the creation of an object.
func appears() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
