package install

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse reads the objects of a YAML file of several documents, in order. Empty documents are passed over.
func Parse(manifest []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var objects []*unstructured.Unstructured
	for document := 1; ; document++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading document %d of the manifest: %w", document, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return nil, fmt.Errorf("reading document %d of the manifest: %w", document, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d of the manifest: an object needs apiVersion, kind and metadata.name", document)
		}
		objects = append(objects, object)
	}
}

// WithoutReplicas sets every Deployment's replicas to 0: simulated nodes run no containers, and a Pod there would only
// claim to be a controller.
func WithoutReplicas(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, int64(0), "spec", "replicas"); err != nil {
			return fmt.Errorf("setting the replicas of %s: %w", describe(object), err)
		}
	}
	return nil
}

// describe names an object as "Deployment agent-sandbox-system/agent-sandbox-controller".
func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
