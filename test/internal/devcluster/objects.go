package devcluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// applyObjects brings the objects of a file into a cluster.
func applyObjects(ctx context.Context, config *rest.Config, file []byte) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	objects, err := decodeObjects(file)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	for _, object := range objects {
		// The kinds in the files all have regular plurals.
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		err := poll(ctx, func(ctx context.Context) error {
			_, err := client.Resource(resource).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object, options)
			// A new API server makes its own namespaces a little later.
			if err != nil && !apierrors.IsNotFound(err) {
				err = finalError{err}
			}
			return err
		})
		if err != nil {
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
