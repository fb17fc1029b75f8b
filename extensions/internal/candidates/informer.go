package candidates

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// SandboxHandler feeds c with what an informer of Sandboxes tells.
func (c *Candidates) SandboxHandler() cache.ResourceEventHandler {
	return handler[*sandboxv1beta1.Sandbox]{set: c.ObserveSandbox, forget: func(s *sandboxv1beta1.Sandbox) { c.Forget(s.UID) }}
}

// NodeHandler feeds c with what an informer of Nodes tells.
func (c *Candidates) NodeHandler() cache.ResourceEventHandler {
	return handler[*corev1.Node]{set: c.ObserveNode, forget: func(n *corev1.Node) { c.ForgetNode(n.Name) }}
}

// ObserveSandbox tells the state of a Sandbox, whosoever it is.
func (c *Candidates) ObserveSandbox(sandbox *sandboxv1beta1.Sandbox) {
	pool, pooled := ownership.ControllerOf(sandbox, index.PoolKind())
	switch {
	case !pooled:
		c.Forget(sandbox.UID)
	case IsCandidate(sandbox):
		c.Observe(Member{
			Key: client.ObjectKeyFromObject(sandbox), UID: sandbox.UID, Version: sandbox.ResourceVersion, Pool: pool.UID, PoolName: pool.Name,
			Created: sandbox.CreationTimestamp.Time, Node: sandbox.Status.NodeName,
			Tolerations: slices.Clone(sandbox.Spec.PodTemplate.Spec.Tolerations),
		})
	case lacksOnlyIP(sandbox):
		c.Expect(pool.UID, sandbox.UID)
	default:
		c.Forget(sandbox.UID)
	}
}

// IsCandidate says whether a member of a pool can be taken, as far as its own state goes: it is Ready as its spec is now, has
// an IP, and is not on its way out.
func IsCandidate(sandbox *sandboxv1beta1.Sandbox) bool {
	ready := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionReady)
	return sandbox.DeletionTimestamp == nil && len(sandbox.Status.PodIPs) > 0 &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == sandbox.Generation
}

// lacksOnlyIP says whether the Pod of a member has its node and waits for its network.
func lacksOnlyIP(sandbox *sandboxv1beta1.Sandbox) bool {
	ready := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionReady)
	return sandbox.DeletionTimestamp == nil && len(sandbox.Status.PodIPs) == 0 &&
		ready != nil && ready.Reason == sandboxv1beta1.ReasonDependenciesNotReady &&
		meta.IsStatusConditionTrue(sandbox.Status.Conditions, sandboxv1beta1.ConditionPodScheduled)
}

// handler tells apart what is there and what is gone.
type handler[T any] struct {
	set    func(T)
	forget func(T)
}

// OnAdd is called for each object that an informer comes to know.
func (h handler[T]) OnAdd(obj any, _ bool) { h.OnUpdate(nil, obj) }

// OnUpdate is called with an object as it is now.
func (h handler[T]) OnUpdate(_, obj any) {
	if now, ok := obj.(T); ok {
		h.set(now)
	}
}

// OnDelete is called with the last state of an object that is known.
func (h handler[T]) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if last, ok := obj.(T); ok {
		h.forget(last)
	}
}
