package claim

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
)

// seen is what one pass knows. Nil means absent.
type seen struct {
	now   time.Time
	claim *extensionsv1beta1.SandboxClaim
	pool  *extensionsv1beta1.SandboxWarmPool
	// template is the pool's, templateHash that of its blueprint.
	template     *extensionsv1beta1.SandboxTemplate
	templateHash string
	// owned are the Sandboxes that the claim controls, those on their way out included, the oldest first.
	owned []*sandboxv1beta1.Sandbox
	// replaced says that the Sandbox which the claim has published is gone, by a read from the API server.
	replaced bool
	// domains are those under which the claim may label its Pod.
	domains blueprint.LabelDomains
	// trace is the annotation that has the trace of this pass go on; empty without one.
	trace string
	// comesSoon says that a member of the pool lacks nothing but an IP.
	comesSoon bool
}

func (s seen) key() types.NamespacedName { return client.ObjectKeyFromObject(s.claim) }

// published is the Sandbox whose name the claim has published; nil when it has published none, or one that is gone.
func (s seen) published() *sandboxv1beta1.Sandbox {
	name := s.claim.Status.Sandbox.Name
	for _, sandbox := range s.owned {
		if name != "" && sandbox.Name == name {
			return sandbox
		}
	}
	return nil
}

// discarding is the UID of the Sandbox that the claim has said it will delete.
func (s seen) discarding() types.UID {
	return types.UID(s.claim.Annotations[extensionsv1beta1.AnnotationDiscarding])
}

// publishable is the Sandbox that a claim without a published one is to publish: the oldest of its own that stays and is of the pool
// that the claim names. A claim whose published Sandbox was not seen to be gone publishes no other: that one may only have been out
// of sight.
func (s seen) publishable() *sandboxv1beta1.Sandbox {
	if s.claim.Status.Sandbox.Name != "" && !s.replaced {
		return nil
	}
	for _, sandbox := range s.owned {
		if s.mayPublish(sandbox) {
			return sandbox
		}
	}
	return nil
}

// mayPublish says whether the claim may publish a Sandbox of its own, should it have published none.
func (s seen) mayPublish(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox.DeletionTimestamp == nil && sandbox.UID != s.discarding() && poolOf(sandbox, s.claim) == s.claim.Spec.WarmPoolRef.Name
}

// poolOf names the pool that a claim's Sandbox came from. One that does not tell is of the pool that the claim names.
func poolOf(sandbox *sandboxv1beta1.Sandbox, claim *extensionsv1beta1.SandboxClaim) string {
	return cmp.Or(sandbox.Annotations[extensionsv1beta1.AnnotationWarmPoolRef], claim.Spec.WarmPoolRef.Name)
}

// firstObserved is when a controller saw the claim first, as far as the claim or this pass knows; never before its creation.
func firstObserved(s seen) time.Time {
	if at, ok := timeOf(s.claim, extensionsv1beta1.AnnotationFirstObservedAt); ok {
		return at
	}
	if created := s.claim.CreationTimestamp.Time; s.now.Before(created) {
		return created
	}
	return s.now
}

func (s seen) expired() bool {
	at, ok := expiry(s.claim.Spec.Lifecycle, s.claim.Status.Conditions)
	return ok && !s.now.Before(at) || s.isOver()
}

// isOver says whether the claim has told that its Sandbox ended and that it expired then. What ended would run once more in another
// Sandbox: no longer TTL asks for that, nor none, but a time until which the claim is to live and that is yet to come.
func (s seen) isOver() bool {
	lifecycle := ptr.Deref(s.claim.Spec.Lifecycle, extensionsv1beta1.Lifecycle{})
	lives := lifecycle.TTLSecondsAfterFinished == nil && lifecycle.ShutdownTime != nil
	return s.expiryStored() && meta.IsStatusConditionTrue(s.claim.Status.Conditions, extensionsv1beta1.ConditionFinished) && !lives
}

// isNewGeneration says whether the claim has told nothing about its present spec.
func (s seen) isNewGeneration() bool {
	ready := meta.FindStatusCondition(s.claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return ready == nil || ready.ObservedGeneration != s.claim.Generation
}

// expiryStored says whether the claim has told that it expired.
func (s seen) expiryStored() bool {
	ready := meta.FindStatusCondition(s.claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return ready != nil && ready.Reason == extensionsv1beta1.ReasonClaimExpired && s.claim.Status.Sandbox.Name == ""
}

// expiry is when a claim of that lifecycle expires which tells those conditions: at the earlier of its two times.
func expiry(lifecycle *extensionsv1beta1.Lifecycle, told []metav1.Condition) (time.Time, bool) {
	if lifecycle == nil {
		return time.Time{}, false
	}
	var at time.Time
	if lifecycle.ShutdownTime != nil {
		at = lifecycle.ShutdownTime.Time
	}
	finished := meta.FindStatusCondition(told, extensionsv1beta1.ConditionFinished)
	if ttl := lifecycle.TTLSecondsAfterFinished; ttl != nil && finished != nil {
		end := finished.LastTransitionTime.Add(time.Duration(*ttl) * time.Second)
		if at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at, !at.IsZero()
}
