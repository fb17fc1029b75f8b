package sandbox

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

func isOurs(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) bool {
	return ownership.Of(obj, sandbox.UID) == ownership.Ours
}

// mayAdopt says whether an object of one of our names may become ours: it has no controller, is not on its way out,
// and says itself, by a label, that it was this Sandbox's or may be anybody's.
func mayAdopt(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) bool {
	if ownership.Of(obj, sandbox.UID) != ownership.Unowned || obj.GetDeletionTimestamp() != nil {
		return false
	}
	labels := obj.GetLabels()
	return labels[sandboxv1beta1.LabelAdoptable] == "true" ||
		labels[sandboxv1beta1.LabelSandboxNameHash] == names.Hash(sandbox.Name)
}

// isPredecessors says whether an object belongs to an earlier Sandbox of the same name. The garbage collector
// is about to remove it, so it is waited for.
func isPredecessors(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) bool {
	ref, ok := ownership.ControllerOf(obj, sandboxKind())
	return ok && ref.Name == sandbox.Name && ref.UID != sandbox.UID
}

// onItsWayOut says whether an object of one of our names that is not ours is expected to go by itself.
func onItsWayOut(obj metav1.Object, sandbox *sandboxv1beta1.Sandbox) bool {
	return obj.GetDeletionTimestamp() != nil || isPredecessors(obj, sandbox)
}

func controllerRef(sandbox *sandboxv1beta1.Sandbox) metav1.OwnerReference {
	return *metav1.NewControllerRef(sandbox, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind))
}

// isReserved reports whether a label or annotation key is the system's.
func isReserved(key string) bool {
	return strings.HasPrefix(key, sandboxv1beta1.KeyPrefix) ||
		strings.HasPrefix(key, sandboxv1beta1.ExtensionsKeyPrefix) ||
		key == sandboxv1beta1.AnnotationTraceContext
}
