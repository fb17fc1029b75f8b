package install

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// FieldManager is who owns the applied fields.
	FieldManager = "agent-sandbox-install"
	// patience bounds how long the API server may take to serve a new CRD.
	patience = 30 * time.Second
	// pause lies between two looks where the API server offers no watch.
	pause = 20 * time.Millisecond
)

// Apply creates or updates every object of a YAML file of several documents, in order, by server-side apply under
// FieldManager, which takes over fields that others changed. What follows a CRD is applied once the API server serves
// it. The error names the object.
func Apply(ctx context.Context, config *rest.Config, manifest []byte) error {
	objects, err := Parse(manifest)
	if err != nil {
		return err
	}
	return ApplyObjects(ctx, config, objects)
}

// ApplyObjects is Apply for objects that were read already.
func ApplyObjects(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	a, err := newApplier(config)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s: %w", describe(object), err)
		}
		if object.GroupVersionKind().GroupKind() == crdKind() {
			if err := a.awaitServed(ctx, object); err != nil {
				return fmt.Errorf("waiting until %s is served: %w", describe(object), err)
			}
		}
	}
	return nil
}

// applier knows which resources the API server has.
type applier struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(config *rest.Config) (*applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client to apply with: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client to discover resources with: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return &applier{client: client, discovery: disco, mapper: mapper}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := a.resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return err
}

// resource finds where an object of this kind and namespace lives.
func (a *applier) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding the resource of its kind: %w", err)
	}
	resources := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resources, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resources.Namespace(namespace), nil
}

func crdKind() schema.GroupKind {
	return schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// awaitServed returns once the CRD is Established and discovery lists its kind. Established alone is not enough: other
// parts of the same API server learn of it a little later, and discovery offers no watch.
func (a *applier) awaitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	resource, err := a.resource(crd)
	if err != nil {
		return err
	}
	var missing string
	err = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		seen, err := resource.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if missing = whyNotEstablished(seen); missing != "" {
			return false, nil
		}
		missing, err = a.whyNotDiscovered(seen)
		return missing == "", err
	})
	if err != nil && missing != "" {
		return fmt.Errorf("%s: %w", missing, err)
	}
	a.mapper.Reset()
	return err
}

// whyNotEstablished is empty for a CRD that is Established.
func whyNotEstablished(crd *unstructured.Unstructured) string {
	why := "it has no condition Established"
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		isTrue := condition["status"] == string(metav1.ConditionTrue)
		switch {
		case condition["type"] == "Established" && isTrue:
			return ""
		case condition["type"] == "NamesAccepted" && !isTrue:
			why = fmt.Sprintf("names not accepted: %v", condition["message"])
		}
	}
	return why
}

// whyNotDiscovered is empty once discovery lists the CRD's kind in every version that is served.
func (a *applier) whyNotDiscovered(crd *unstructured.Unstructured) (string, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, item := range versions {
		version, _ := item.(map[string]any)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		at := fmt.Sprintf("%s/%v", group, version["name"])
		listed, err := a.discovery.ServerResourcesForGroupVersion(at)
		if apierrors.IsNotFound(err) || err == nil && !lists(listed, plural) {
			return fmt.Sprintf("discovery does not list %s in %s", plural, at), nil
		}
		if err != nil {
			return "", fmt.Errorf("discovering %s: %w", at, err)
		}
	}
	return "", nil
}

func lists(listed *metav1.APIResourceList, plural string) bool {
	for _, resource := range listed.APIResources {
		if resource.Name == plural {
			return true
		}
	}
	return false
}
