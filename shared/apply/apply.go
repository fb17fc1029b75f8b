// Package apply writes patches as bytes that name exactly what changes, with the preconditions they rest on.
package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Operation is one step of a JSON patch (RFC 6902).
type Operation struct {
	Op    string
	Path  string
	Value any
}

// MarshalJSON leaves the value of a removal out, and writes a null where a null is meant.
func (o Operation) MarshalJSON() ([]byte, error) {
	if o.Op == "remove" {
		return json.Marshal(map[string]any{"op": o.Op, "path": o.Path})
	}
	return json.Marshal(map[string]any{"op": o.Op, "path": o.Path, "value": o.Value})
}

// Test makes the patch fail, with 422 (Invalid), unless what stands at path is value; a missing field is null.
func Test(path string, value any) Operation { return Operation{Op: "test", Path: path, Value: value} }

// Set puts value at path.
func Set(path string, value any) Operation { return Operation{Op: "add", Path: path, Value: value} }

// Replace puts value in the place of what stands at path. It fails, with 422 (Invalid), when there is nothing.
func Replace(path string, value any) Operation {
	return Operation{Op: "replace", Path: path, Value: value}
}

// Remove takes away what stands at path. It fails, with 422 (Invalid), when there is nothing.
func Remove(path string) Operation { return Operation{Op: "remove", Path: path} }

// At makes the patch fail, with 409 (Conflict), unless the object stands at that resourceVersion.
func At(resourceVersion string) Operation { return Set("/metadata/resourceVersion", resourceVersion) }

// Key is a path below that of a map, with the characters escaped that a path gives a meaning.
func Key(path, key string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Status returns the JSON patch of the status subresource that turns stored into wanted, removals and zero values
// included; nil when they are the same. It tests the object's UID, so that it never lands on another object of the same
// name: the API server ignores a UID in a merge patch of the status of a custom resource. A failed test answers 422
// (Invalid). It has no resourceVersion: a status has one writer.
func Status(uid types.UID, stored, wanted any) ([]byte, error) {
	return statusPatch(Test("/metadata/uid", uid), stored, wanted)
}

// StatusAt is Status under a precondition: the object stands at that resourceVersion, which no other object ever has. Else
// it answers 409 (Conflict).
func StatusAt(resourceVersion string, stored, wanted any) ([]byte, error) {
	return statusPatch(At(resourceVersion), stored, wanted)
}

func statusPatch(precondition Operation, stored, wanted any) ([]byte, error) {
	before, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encoding the stored status: %w", err)
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("encoding the wanted status: %w", err)
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	return json.Marshal([]Operation{precondition, Set("/status", json.RawMessage(after))})
}

// Metadata is a merge patch of an object's metadata.
type Metadata struct {
	// UID is the object meant. A patch never lands on another object of its name.
	UID types.UID `json:"uid"`
	// ResourceVersion, when set, makes the patch fail once the object has changed.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Labels to set; nil values remove the key.
	Labels map[string]*string `json:"labels,omitempty"`
	// Annotations to set; nil values remove the key.
	Annotations map[string]*string `json:"annotations,omitempty"`
	// OwnerReferences replace all that stand, an empty list as well; nil leaves them alone. They need a ResourceVersion.
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitzero"`
}

// IsEmpty reports whether the patch changes nothing.
func (m Metadata) IsEmpty() bool {
	return len(m.Labels) == 0 && len(m.Annotations) == 0 && m.OwnerReferences == nil
}

// Bytes is the JSON merge patch, with spec beside the metadata unless it is nil.
func (m Metadata) Bytes(spec any) ([]byte, error) {
	patch := map[string]any{"metadata": m}
	if spec != nil {
		patch["spec"] = spec
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a metadata patch: %w", err)
	}
	return raw, nil
}

// Changes returns what makes want of have, for the given keys of want only: keys of have that want does not name stay.
func Changes(have, want map[string]string) map[string]*string {
	changes := map[string]*string{}
	for key, value := range want {
		if old, ok := have[key]; !ok || old != value {
			changes[key] = &value
		}
	}
	return changes
}
