package command

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// standardInput is the name of standard input.
const standardInput = "-"

// createFiles makes what manifests have, in their order.
func (t *tool) createFiles(ctx context.Context, m *making, files, args []string) error {
	if len(args) > 0 {
		return UsageError{fmt.Errorf("%q: the manifests of -f have their own names: give no other", args)}
	}
	c, err := t.connect()
	if err != nil {
		return err
	}
	objects, err := t.read(files)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := putInto(object, c.Namespace, *t.flags.Namespace); err != nil {
			return err
		}
	}
	for _, object := range objects {
		if err := t.make(ctx, c, m, object); err != nil {
			return err
		}
	}
	return nil
}

// read reads manifests. What they have is of our kinds, and every field of it is known.
func (t *tool) read(files []string) ([]client.Object, error) {
	builder := resource.NewBuilder(t.flags).Unstructured().Local().Flatten()
	named := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return file == standardInput })
	if len(named) < len(files) {
		builder = builder.Stream(t.Streams.In, "standard input")
	}
	if len(named) > 0 {
		builder = builder.FilenameParam(false, &resource.FilenameOptions{Filenames: named})
	}
	found, err := builder.Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("reading manifests: there is none in %q", files)
	}
	objects := make([]client.Object, 0, len(found))
	for _, info := range found {
		content, isObject := info.Object.(*unstructured.Unstructured)
		if !isObject {
			return nil, fmt.Errorf("%s: %T is no object", info.Source, info.Object)
		}
		object, err := typed(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", info.Source, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// typed is the object as one of our kinds. A field that there is not is an error.
func typed(content *unstructured.Unstructured) (client.Object, error) {
	kind := content.GroupVersionKind()
	of, known := target.KindOf(kind.Kind)
	if !known || !slices.Contains([]schema.GroupVersion{sandboxv1beta1.GroupVersion, extensionsv1beta1.GroupVersion}, kind.GroupVersion()) {
		return nil, fmt.Errorf("%s %q: not a Sandbox, claim, pool or template of %s: use `kubectl create -f`",
			kind, content.GetName(), sandboxv1beta1.GroupVersion.Version)
	}
	object := of.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content.Object, object, true); err != nil {
		return nil, fmt.Errorf("%s %q: %w", kind.Kind, content.GetName(), err)
	}
	return object, nil
}

// putInto puts the object into the namespace, unless it names another. asked is what --namespace says.
func putInto(object client.Object, namespace, asked string) error {
	switch own := object.GetNamespace(); {
	case own == "":
		object.SetNamespace(namespace)
	case asked != "" && own != asked:
		return UsageError{fmt.Errorf("%s: its manifest has namespace %q, --namespace says %q: leave one of them out", target.Of(object), own, asked)}
	}
	return nil
}
