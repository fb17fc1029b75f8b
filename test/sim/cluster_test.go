package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// holdFinalizer keeps a Sandbox that a user has deleted for a while.
const holdFinalizer = "example.com/hold"

// otherOwner is an owner that is always there, beside the controller.
func otherOwner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-other"}
}

func versionOf(obj client.Object) int64 {
	var version int64
	for _, digit := range obj.GetResourceVersion() {
		version = 10*version + int64(digit-'0')
	}
	return version
}

// ownerOf is the controller of a Sandbox if it is of that kind; nil otherwise.
func ownerOf(sandbox *sandboxv1beta1.Sandbox, kind string) *metav1.OwnerReference {
	if sandbox == nil {
		return nil
	}
	if ref := metav1.GetControllerOfNoCopy(sandbox); ref != nil && ref.Kind == kind {
		return ref
	}
	return nil
}

// isRunning says whether an object is a Pod that a kubelet has to stop before it is gone.
func isRunning(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.Spec.NodeName != ""
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podsToRun are the Pods that a scheduler or kubelet has something to do for.
func (w *world) podsToRun() []string {
	var names []string
	for _, name := range w.store.names(podKind) {
		pod := w.store.objects[podKind][name].(*corev1.Pod)
		if pod.DeletionTimestamp != nil || !podReady(pod) || len(pod.Status.PodIPs) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// runPod takes one Pod a step further.
func (w *world) runPod(name string) {
	before := w.store.objects[podKind][name].(*corev1.Pod)
	if before.DeletionTimestamp != nil {
		w.store.put(nil, podKind, before, nil)
		w.note("Pod %s has stopped", name)
		return
	}
	after := before.DeepCopy()
	now := metav1.NewTime(w.store.now)
	ip := corev1.PodIP{IP: fmt.Sprintf("10.0.0.%d", len(name)+len(before.UID))}
	switch {
	case before.Spec.NodeName == "":
		after.Spec.NodeName = fmt.Sprintf("node-%d", w.rng.IntN(2))
		after.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}}
		after.Status.Phase = corev1.PodPending
	case !podReady(before):
		after.Status.Phase = corev1.PodRunning
		after.Status.Conditions = append(after.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
		if w.rng.IntN(3) > 0 {
			after.Status.PodIPs = []corev1.PodIP{ip}
		}
	default:
		after.Status.PodIPs = []corev1.PodIP{ip}
	}
	w.store.put(nil, podKind, before, after)
	w.note("Pod %s: node %q, phase %s, %d IPs", name, after.Spec.NodeName, after.Status.Phase, len(after.Status.PodIPs))
}

// piece is an object that the garbage collector has something to do for.
type piece struct {
	kind kind
	name string
	do   func()
	what string
}

// garbage are those pieces: what has lost its owners goes, what has lost one of them forgets it, what is deleted in the foreground
// waits for what it owns.
func (w *world) garbage() []piece {
	owners := map[types.UID]client.Object{otherOwner().UID: nil}
	waiting := map[types.UID]bool{}
	for k := range w.store.objects {
		for _, obj := range w.store.objects[k] {
			owners[obj.GetUID()] = obj
			for _, ref := range obj.GetOwnerReferences() {
				if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
					waiting[ref.UID] = true
				}
			}
		}
	}
	var pieces []piece
	for k := range kinds {
		for _, name := range w.store.names(k) {
			obj := w.store.objects[k][name]
			if p, ok := w.judge(k, obj, owners, waiting); ok {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

func isForeground(obj client.Object) bool {
	return obj != nil && obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

func (w *world) judge(k kind, obj client.Object, owners map[types.UID]client.Object, waiting map[types.UID]bool) (piece, bool) {
	name := obj.GetName()
	if isForeground(obj) && !waiting[obj.GetUID()] {
		return piece{k, name, func() {
			w.store.edit(k, name, func(o client.Object) {
				o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			})
		}, "waits for nothing any more"}, true
	}
	var solid []metav1.OwnerReference
	going := false
	for _, ref := range obj.GetOwnerReferences() {
		owner, exists := owners[ref.UID]
		switch {
		case !exists:
		case isForeground(owner):
			going = true
		default:
			solid = append(solid, ref)
		}
	}
	switch {
	case len(solid) == len(obj.GetOwnerReferences()):
		return piece{}, false
	case len(solid) > 0:
		return piece{k, name, func() { w.store.edit(k, name, func(o client.Object) { o.SetOwnerReferences(solid) }) }, "forgets an owner"}, true
	case obj.GetDeletionTimestamp() != nil:
		return piece{}, false
	}
	policy := metav1.DeletePropagationBackground
	if going && waiting[obj.GetUID()] {
		policy = metav1.DeletePropagationForeground
	}
	return piece{k, name, func() {
		// The object was there a moment ago.
		_, _ = w.store.delete(nil, k, name, client.DeleteOptions{PropagationPolicy: &policy})
	}, "goes with its owners"}, true
}

// collect lets the garbage collector do one thing.
func (w *world) collect(p piece) {
	p.do()
	w.note("garbage collector: %s %s %s", p.kind, p.name, p.what)
}
