package warmpool

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// PoolChanged says whether an update of a pool is one to act on: of its spec, or of a status that this process did not write last.
func (r *Reconciler) PoolChanged(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*extensionsv1beta1.SandboxWarmPool)
	after, ok2 := e.ObjectNew.(*extensionsv1beta1.SandboxWarmPool)
	if !ok || !ok2 || before.Generation != after.Generation {
		return true
	}
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return false
	}
	status, err := names.Fingerprint(after.Status)
	return err != nil || !r.echoes.IsEcho(after.UID, status)
}

// SeeMember remembers a member that is Ready, and lets every event through. It comes before the event wakes the pool: when that
// looks, a claim may have the member.
func (r *Reconciler) SeeMember(obj client.Object) bool {
	member, ok := obj.(*sandboxv1beta1.Sandbox)
	if !ok || !isStarted(member) {
		return true
	}
	if pool, pooled := ownership.ControllerOf(member, index.PoolKind()); pooled {
		r.arrivals.Tell(pool.UID, member.Labels[extensionsv1beta1.LabelTemplateHash], readySince(member))
	}
	return true
}

// ThoseOfTemplate are the pools that name a template.
func (r *Reconciler) ThoseOfTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	pools, err := index.PoolsOfTemplate(ctx, r.client, template)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Waking the pools of a template", "template", template.GetName())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(pools))
	for i := range pools {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools[i])})
	}
	return requests
}

// ThoseOfOrphan are the pools whose label a Sandbox carries that nobody controls: they report it.
func (r *Reconciler) ThoseOfOrphan(ctx context.Context, sandbox client.Object) []reconcile.Request {
	label := sandbox.GetLabels()[sandboxv1beta1.LabelWarmPool]
	if label == "" || metav1.GetControllerOfNoCopy(sandbox) != nil {
		return nil
	}
	pools, err := index.PoolsOf(ctx, r.client, sandbox.GetNamespace())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Waking the pools of an orphan", "sandbox", sandbox.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range pools {
		if names.Hash(pools[i].Name) == label {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools[i])})
		}
	}
	return requests
}

// wakeByNodes adds the pools to the queue of which members can be taken no more, or again, since a node has changed. The queue
// takes them without waiting, so that what tells of nodes is not held up.
func (r *Reconciler) wakeByNodes(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.members.OnNodes(func(pools []types.NamespacedName) {
		for _, pool := range pools {
			queue.Add(reconcile.Request{NamespacedName: pool})
		}
	})
	return nil
}

// PoolOfClaim is the pool that a claim names: it may have given way to that claim.
func PoolOfClaim(_ context.Context, obj client.Object) []reconcile.Request {
	claim, ok := obj.(*extensionsv1beta1.SandboxClaim)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.WarmPoolRef.Name}}}
}

// servedOrGone lets the events through after which one claim less waits.
func servedOrGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  Served,
	}
}

// Served says whether an update of a claim is the one that gives it its Sandbox.
func Served(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*extensionsv1beta1.SandboxClaim)
	after, ok2 := e.ObjectNew.(*extensionsv1beta1.SandboxClaim)
	return ok && ok2 && before.Status.Sandbox.Name == "" && after.Status.Sandbox.Name != ""
}
