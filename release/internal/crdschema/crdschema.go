package crdschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// MaxBytes is the largest size of one CustomResourceDefinition, as a file and as compact JSON. Client-side
// apply keeps a copy of the object in an annotation, and annotations may hold 262,144 bytes in all.
const MaxBytes = 250_000

// Field is one schema node of a CustomResourceDefinition.
type Field struct {
	// Path of the node: the version, then property names joined by dots, [] for items and {} for map values.
	Path string
	// Schema of the node. A change of it is kept.
	Schema *apiextensionsv1.JSONSchemaProps
	// Embedded says that the node lies below a Kubernetes PodSpec or PersistentVolumeClaimSpec, whose own
	// documentation is not ours to repeat. The spec itself is not embedded: its description is ours.
	Embedded bool
}

// Walk calls visit for every schema node of every version, parents first, properties in alphabetical order.
func Walk(crd *apiextensionsv1.CustomResourceDefinition, visit func(Field)) {
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		walk(Field{Path: version.Name, Schema: version.Schema.OpenAPIV3Schema}, visit)
	}
}

// walk descends into properties, items and map values. A structural schema has descriptions nowhere else.
func walk(field Field, visit func(Field)) {
	visit(field)
	embedded := field.Embedded || isKubernetesSpec(field.Schema)
	for _, name := range slices.Sorted(maps.Keys(field.Schema.Properties)) {
		child := field.Schema.Properties[name]
		walk(Field{Path: field.Path + "." + name, Schema: &child, Embedded: embedded}, visit)
		field.Schema.Properties[name] = child
	}
	if field.Schema.Items != nil && field.Schema.Items.Schema != nil {
		walk(Field{Path: field.Path + "[]", Schema: field.Schema.Items.Schema, Embedded: embedded}, visit)
	}
	if field.Schema.AdditionalProperties != nil && field.Schema.AdditionalProperties.Schema != nil {
		walk(Field{Path: field.Path + "{}", Schema: field.Schema.AdditionalProperties.Schema, Embedded: embedded}, visit)
	}
}

// isKubernetesSpec recognizes a PodSpec and a PersistentVolumeClaimSpec by properties that only they have
// together, so that a new kind that embeds one needs no entry anywhere.
func isKubernetesSpec(schema *apiextensionsv1.JSONSchemaProps) bool {
	return hasProperties(schema, "containers", "restartPolicy", "nodeName") ||
		hasProperties(schema, "accessModes", "storageClassName", "volumeName")
}

func hasProperties(schema *apiextensionsv1.JSONSchemaProps, names ...string) bool {
	for _, name := range names {
		if _, ok := schema.Properties[name]; !ok {
			return false
		}
	}
	return true
}

// Strip removes the descriptions of all embedded fields.
func Strip(crd *apiextensionsv1.CustomResourceDefinition) {
	Walk(crd, func(field Field) {
		if field.Embedded {
			field.Schema.Description = ""
		}
	})
}

// Process reads a CustomResourceDefinition as controller-gen writes it, strips and bounds it, and gives it back as a file.
// It is an error if the result is larger than MaxBytes.
func Process(file []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(file, &crd); err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	Strip(&crd)
	Bound(&crd)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&crd)
	if err != nil {
		return nil, fmt.Errorf("converting CustomResourceDefinition %q: %w", crd.Name, err)
	}
	delete(content, "status")
	out, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing CustomResourceDefinition %q: %w", crd.Name, err)
	}
	out = append([]byte("---\n"), out...)
	compact, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing CustomResourceDefinition %q as JSON: %w", crd.Name, err)
	}
	if size := max(len(out), len(compact)); size > MaxBytes {
		return nil, fmt.Errorf("CustomResourceDefinition %q has %d bytes, more than %d: shorten its descriptions", crd.Name, size, MaxBytes)
	}
	return out, nil
}
