package sandbox

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// decide returns the writes that bring the children of a Sandbox in line with its spec.
func decide(s seen) plan {
	switch {
	case s.expired():
		return expiryPlan(s)
	case s.sandbox.DeletionTimestamp != nil:
		return leavingPlan(s)
	}
	p := plan{
		claims:      claimActions(s),
		pod:         podStep(s),
		service:     serviceStep(s),
		dropPodName: podNameIsStale(s),
	}
	if at := s.sandbox.Spec.ShutdownTime; at != nil {
		p.wakeWithin(at.Sub(s.now))
	}
	if pod := s.pod(); p.pod.replace == nil && pod != nil && isReplaced(pod, s) {
		p.wakeWithin(recreateTime(pod, s.now).Sub(s.now))
	}
	if p.pod.patch != nil && s.holdMetadata > 0 {
		p.pod.patch = nil
		p.wakeWithin(s.holdMetadata)
	}
	return withhold(s, p)
}

// podNameIsStale says whether the annotation by which clients of older releases find the Pod names one that is gone.
func podNameIsStale(s seen) bool {
	name := s.sandbox.Annotations[sandboxv1beta1.AnnotationPodName]
	return name != "" && name != s.sandbox.Name && !s.podNameStands
}

// leavingPlan lets the owner references of a Sandbox that is being deleted take the children along. In a deletion in the
// foreground the garbage collector never comes back for a Pod that was made while the Sandbox was not yet seen here to go: it waits
// for the PersistentVolumeClaim, which waits for that Pod. So the Pod is deleted here; likewise that of one which is held back by a
// finalizer and suspended meanwhile.
func leavingPlan(s seen) plan {
	var p plan
	if slices.Contains(s.sandbox.Finalizers, metav1.FinalizerDeleteDependents) || s.suspended() {
		p.pod.remove = livingPods(s)
	}
	if at := s.sandbox.Spec.ShutdownTime; at != nil {
		p.wakeWithin(at.Sub(s.now))
	}
	return p
}

// expiryPlan deletes the Sandbox, or its Pod and Service: whichever the policy says. Where the Sandbox is held back by
// somebody's finalizer, they go all the same.
func expiryPlan(s seen) plan {
	if s.sandbox.Spec.ShutdownPolicy == sandboxv1beta1.ShutdownPolicyDelete && s.sandbox.DeletionTimestamp == nil {
		return plan{remove: &target{
			name: s.sandbox.Name, uid: s.sandbox.UID, resourceVersion: s.sandbox.ResourceVersion,
		}}
	}
	p := plan{pod: podAction{remove: livingPods(s)}}
	if s.service != nil && isOurs(s.service, s.sandbox) {
		p.service = removeService(s)
	}
	return p
}

// finishedStands says whether the Pod has ended and is not to be made again: it is, once the spec has changed since.
func finishedStands(sandbox *sandboxv1beta1.Sandbox) bool {
	finished := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionFinished)
	return finished != nil && finished.ObservedGeneration == sandbox.Generation
}

func targetOf(obj metav1.Object) target {
	return target{name: obj.GetName(), uid: obj.GetUID()}
}

// refuse explains why an object of one of our names is left alone, and what its owner can do.
func refuse(kind string, obj metav1.Object) error {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return refusal(fmt.Sprintf("%s %q is controlled by %s %q: delete it or rename the Sandbox",
			kind, obj.GetName(), ref.Kind, ref.Name))
	}
	return refusal(fmt.Sprintf("%s %q exists and is not owned by this Sandbox: delete it, rename the Sandbox, or label it %s=true to hand it over",
		kind, obj.GetName(), sandboxv1beta1.LabelAdoptable))
}

// withController adds our controller reference to the owner references that obj has.
func withController(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) []metav1.OwnerReference {
	return append(ownersBut(obj, sandbox), controllerRef(sandbox))
}

// ownersBut are the owner references that obj has beside ours; never nil.
func ownersBut(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) []metav1.OwnerReference {
	refs := make([]metav1.OwnerReference, 0, len(obj.GetOwnerReferences())+1)
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID != sandbox.UID {
			refs = append(refs, ref)
		}
	}
	return refs
}
