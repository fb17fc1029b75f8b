package chart

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const header = "# Generated from kustomize/base by release/cmd/generate: change that, not this.\n"

// taken are the kinds whose objects the chart takes over. Those of the others follow its values.
func taken() []string {
	return []string{"CustomResourceDefinition", "ClusterRole", "Role", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
}

// bodies are objects of the bases without kind and metadata, which are the chart's to write, as COMPONENT/KIND/NAME.yaml; and the labels by
// which the namespace holds its Pods to a standard.
func bodies(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, component := range []string{"core", "extensions"} {
		objects, err := build(root, component)
		if err != nil {
			return nil, err
		}
		found := map[string]bool{}
		for _, object := range objects {
			if !slices.Contains(taken(), object.GetKind()) {
				continue
			}
			found[object.GetKind()] = true
			if files[path.Join(component, object.GetKind(), object.GetName()+".yaml")], err = body(object); err != nil {
				return nil, err
			}
		}
		for _, kind := range taken() {
			if !found[kind] {
				return nil, fmt.Errorf("kustomize/base/%s has no %s, which the chart takes from it", component, kind)
			}
		}
	}
	labels, err := namespaceLabels(root)
	files["namespace-labels.yaml"] = labels
	return files, err
}

func build(root, base string) ([]*resource.Resource, error) {
	directory := filepath.Join(root, "kustomize", "base", base)
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("building kustomize/base/%s: %w", base, err)
	}
	return objects.Resources(), nil
}

func body(object *resource.Resource) ([]byte, error) {
	fields, err := object.Map()
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, field)
	}
	return generated(fields)
}

func namespaceLabels(root string) ([]byte, error) {
	objects, err := build(root, "namespace")
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, errors.New("kustomize/base/namespace holds more than the namespace")
	}
	labels := objects[0].GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, "pod-security.kubernetes.io/") })
	return generated(labels)
}

func generated(content any) ([]byte, error) {
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing a generated file: %w", err)
	}
	return append([]byte(header), text...), nil
}
