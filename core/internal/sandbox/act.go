package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
)

// act carries out a plan. A Pod is not made while one of its PersistentVolumeClaims is missing, and none of those is taken over
// before the Pod that uses it; everything else goes on past a failure.
func (r *Reconciler) act(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, p plan) done {
	var d done
	if p.adopts() {
		going, err := r.isGoing(ctx, sandbox)
		if going || err != nil {
			d.fail(err)
			return d
		}
	}
	if p.remove != nil {
		err := r.delete(ctx, &sandboxv1beta1.Sandbox{}, sandbox.Namespace, *p.remove)
		d.removed, d.outdated = err == nil, apierrors.IsConflict(err)
		d.fail(consistency.IgnoreMoved(err))
		return d
	}
	if p.pod.adopts() {
		r.actOnPod(ctx, sandbox, p.pod, &d)
	}
	for _, action := range p.claims {
		if action.adopt == nil || !p.pod.adopts() || d.pod != nil {
			d.fail(r.actOnClaim(ctx, sandbox, action))
		}
	}
	switch {
	case p.pod.adopts():
	case len(d.errors) == 0 || p.pod.create == nil:
		r.actOnPod(ctx, sandbox, p.pod, &d)
	default:
		d.podError = errors.Join(d.errors...)
	}
	r.actOnService(ctx, sandbox, p.service, &d)
	if p.dropPodName {
		d.fail(r.dropPodName(ctx, sandbox))
	}
	return d
}

// isGoing asks the API server whether the Sandbox is being deleted, or is another by now. The cache may lag behind, and what is
// adopted for a Sandbox that is gone is deleted by the garbage collector.
func (r *Reconciler) isGoing(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (bool, error) {
	current, err := r.current(ctx, sandbox)
	return err == nil && (current == nil || current.DeletionTimestamp != nil), err
}

// current is the Sandbox as the API server has it; nil when it is gone, or another by now.
func (r *Reconciler) current(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (*sandboxv1beta1.Sandbox, error) {
	current := &sandboxv1beta1.Sandbox{}
	found, err := consistency.Find(ctx, r.live, client.ObjectKeyFromObject(sandbox), current)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading Sandbox %q, for which an object is taken over: %w", sandbox.Name, err)
	case !found || current.UID != sandbox.UID:
		return nil, nil
	}
	return current, nil
}

// dropPodName removes the annotation that names a Pod which is gone, if it still says what was seen.
func (r *Reconciler) dropPodName(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) error {
	_, err := r.patch(ctx, &sandboxv1beta1.Sandbox{}, sandbox.Namespace, &metadataPatch{name: sandbox.Name, metadata: apply.Metadata{
		UID: sandbox.UID, ResourceVersion: sandbox.ResourceVersion,
		Annotations: map[string]*string{sandboxv1beta1.AnnotationPodName: nil},
	}})
	return err
}

func (r *Reconciler) actOnClaim(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, action claimAction) error {
	switch {
	case action.create != nil:
		_, err := createOrFind(ctx, r, sandbox, action.create, &corev1.PersistentVolumeClaim{})
		return err
	case action.adopt != nil:
		return r.adoptClaim(ctx, sandbox, action.adopt)
	}
	return action.refused
}

// adoptClaim asks before and after, since a user may delete the Sandbox in between to keep its data: the garbage collector may have
// let go of the children by then, takes the disk for one that nobody wants to keep, and would delete it once the Sandbox is gone.
func (r *Reconciler) adoptClaim(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, adopt *metadataPatch) error {
	going, err := r.isGoing(ctx, sandbox)
	if going || err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{}
	landed, err := r.patch(ctx, claim, sandbox.Namespace, adopt)
	if !landed {
		return err
	}
	current, err := r.current(ctx, sandbox)
	if err != nil || current == nil || !slices.Contains(current.Finalizers, metav1.FinalizerOrphanDependents) {
		return err
	}
	_, err = r.patch(ctx, &corev1.PersistentVolumeClaim{}, sandbox.Namespace, &metadataPatch{name: claim.Name, metadata: apply.Metadata{
		UID: claim.UID, ResourceVersion: claim.ResourceVersion, OwnerReferences: ownersBut(claim, sandbox),
	}})
	return err
}

func (r *Reconciler) actOnPod(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, action podAction, d *done) {
	switch {
	case action.create != nil:
		d.pod, d.podError = r.createPod(ctx, sandbox, action)
		d.fail(d.podError)
	case action.patch != nil:
		pod, err := r.patchPod(ctx, sandbox, action.patch)
		d.pod = pod
		d.fail(err)
	case action.refused != nil:
		d.podError = action.refused
		d.fail(d.podError)
	}
	for _, pod := range action.remove {
		if err := r.remove(ctx, &corev1.Pod{}, sandbox.Namespace, pod); err != nil {
			d.kept = append(d.kept, pod.uid)
			d.fail(err)
		}
	}
}

// createPod makes the Pod, where one that failed has to go first, after that. One of ours that stands unseen by the cache
// has lost its labels, or was made a moment ago: it is put in order.
func (r *Reconciler) createPod(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, action podAction) (*corev1.Pod, error) {
	if action.replace != nil {
		if err := r.remove(ctx, &corev1.Pod{}, sandbox.Namespace, *action.replace); err != nil {
			return nil, err
		}
	}
	pod, err := createOrFind(ctx, r, sandbox, action.create, &corev1.Pod{})
	if err != nil || pod == action.create {
		return pod, err
	}
	drift := driftOf(pod, seen{sandbox: sandbox})
	if drift == nil {
		return pod, nil
	}
	return r.patchPod(ctx, sandbox, drift)
}

// patchPod returns the Pod as it is afterwards; nil when it is gone.
func (r *Reconciler) patchPod(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, patch *metadataPatch) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	landed, err := r.patch(ctx, pod, sandbox.Namespace, patch)
	if !landed {
		return nil, err
	}
	return pod, nil
}

func (r *Reconciler) actOnService(ctx context.Context, sandbox *sandboxv1beta1.Sandbox, action serviceAction, d *done) {
	switch {
	case action.create != nil:
		service, err := createOrFind(ctx, r, sandbox, action.create, &corev1.Service{})
		d.service = service
		d.fail(err)
	case action.patch != nil:
		service := &corev1.Service{}
		landed, err := r.patchService(ctx, service, sandbox.Namespace, action.patch)
		if landed {
			d.service = service
		}
		d.fail(err)
	case action.remove != nil:
		d.fail(r.remove(ctx, &corev1.Service{}, sandbox.Namespace, *action.remove))
	default:
		d.fail(action.refused)
	}
}

// object is a pointer to T that is an API object.
type object[T any] interface {
	*T
	client.Object
}

// createOrFind creates wanted. Where an object of that name stands already, unseen by the cache, it is read from the API
// server: ours is as good as made now (an earlier answer was lost), another's is an error.
func createOrFind[T any, P object[T]](ctx context.Context, r *Reconciler, sandbox *sandboxv1beta1.Sandbox, wanted, standing P) (P, error) {
	err := r.client.Create(ctx, wanted)
	if err == nil {
		return wanted, nil
	}
	kind := kindOf(wanted)
	if !apierrors.IsAlreadyExists(err) {
		return nil, r.explain(ctx, sandbox, wanted, fmt.Errorf("creating %s %q: %w", kind, wanted.GetName(), err))
	}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(wanted), standing); err != nil {
		return nil, fmt.Errorf("reading %s %q, which exists already: %w", kind, wanted.GetName(), err)
	}
	if !isOurs(standing, sandbox) {
		return nil, refuse(kind, standing)
	}
	return standing, nil
}

// patch changes the metadata of an object into which it reads the result, and says whether it did. An object that is gone,
// or another by now, is left to the event that says so.
func (r *Reconciler) patch(ctx context.Context, obj client.Object, namespace string, patch *metadataPatch) (bool, error) {
	body, err := patch.metadata.Bytes(nil)
	if err != nil {
		return false, err
	}
	return r.mergePatch(ctx, obj, types.NamespacedName{Namespace: namespace, Name: patch.name}, patch.metadata.UID, body)
}

func (r *Reconciler) patchService(ctx context.Context, service *corev1.Service, namespace string, patch *servicePatch) (bool, error) {
	var spec any
	if patch.spec != nil {
		spec = patch.spec
	}
	body, err := patch.metadata.Bytes(spec)
	if err != nil {
		return false, err
	}
	return r.mergePatch(ctx, service, types.NamespacedName{Namespace: namespace, Name: patch.name}, patch.metadata.UID, body)
}

func (r *Reconciler) mergePatch(ctx context.Context, obj client.Object, key types.NamespacedName, uid types.UID, body []byte) (bool, error) {
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	err := r.client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body))
	if err == nil {
		return true, nil
	}
	if err = r.ignoreSuccessor(ctx, obj, uid, err); err != nil {
		return false, fmt.Errorf("patching %s %q: %w", kindOf(obj), key.Name, err)
	}
	return false, nil
}

// remove deletes exactly the object that was seen. One that is gone, or another by now, needs no deleting.
func (r *Reconciler) remove(ctx context.Context, obj client.Object, namespace string, seen target) error {
	return consistency.IgnoreMoved(r.delete(ctx, obj, namespace, seen))
}

func (r *Reconciler) delete(ctx context.Context, obj client.Object, namespace string, seen target) error {
	obj.SetNamespace(namespace)
	obj.SetName(seen.name)
	preconditions := client.Preconditions{UID: &seen.uid}
	if seen.resourceVersion != "" {
		preconditions.ResourceVersion = &seen.resourceVersion
	}
	err := r.client.Delete(ctx, obj, preconditions, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return fmt.Errorf("deleting %s %q: %w", kindOf(obj), seen.name, err)
	}
	return nil
}

// ignoreSuccessor drops the error of a patch that carries a UID when its object is no more, or is another of that name by
// now. A wrong UID and a refused change both answer 422, so it takes a look to tell. It reads into obj.
func (r *Reconciler) ignoreSuccessor(ctx context.Context, obj client.Object, uid types.UID, err error) error {
	if !apierrors.IsInvalid(err) {
		return consistency.IgnoreMoved(err)
	}
	readErr := r.live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	switch {
	case apierrors.IsNotFound(readErr), readErr == nil && obj.GetUID() != uid:
		return nil
	default:
		return errors.Join(err, readErr)
	}
}

func kindOf(obj client.Object) string {
	switch obj.(type) {
	case *corev1.Pod:
		return "Pod"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *corev1.Service:
		return "Service"
	default:
		return sandboxv1beta1.SandboxKind
	}
}
