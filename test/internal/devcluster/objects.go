package devcluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// fieldManager owns what devcluster applies.
const fieldManager = "devcluster"

//go:embed objects.yaml
var objectsYAML []byte

// applyObjects brings the objects of objects.yaml into a cluster.
func applyObjects(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	objects, err := decodeObjects(objectsYAML)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	for _, object := range objects {
		// The kinds in the file all have regular plurals and no namespace.
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		if _, err := client.Resource(resource).Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func decodeObjects(data []byte) ([]*unstructured.Unstructured, error) {
	const lookAhead = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), lookAhead)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding the cluster's own objects: %w", err)
		}
		objects = append(objects, object)
	}
}
