// Package ownership decides whose an object is: by the UID of its controller, never by name or label.
package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Relation is how an object stands to a would-be owner.
type Relation int

const (
	// Unowned : no controller at all.
	Unowned Relation = iota
	// Ours : the owner is its controller.
	Ours
	// Foreign : something else is its controller.
	Foreign
)

// Of returns how obj stands to the owner with that UID.
func Of(obj metav1.Object, owner types.UID) Relation {
	ref := metav1.GetControllerOfNoCopy(obj)
	switch {
	case ref == nil:
		return Unowned
	case ref.UID == owner:
		return Ours
	default:
		return Foreign
	}
}

// ControllerOf returns the controller reference of obj when it is of that group and kind, whatever its version.
func ControllerOf(obj metav1.Object, kind schema.GroupKind) (metav1.OwnerReference, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != kind.Kind {
		return metav1.OwnerReference{}, false
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || version.Group != kind.Group {
		return metav1.OwnerReference{}, false
	}
	return *ref, true
}

// IndexByController returns an index function: the UID of the controller, for objects whose controller is of that
// group and kind.
func IndexByController(kind schema.GroupKind) client.IndexerFunc {
	return func(obj client.Object) []string {
		ref, ok := ControllerOf(obj, kind)
		if !ok {
			return nil
		}
		return []string{string(ref.UID)}
	}
}
