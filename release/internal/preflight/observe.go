package preflight

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	systemNamespace = "kube-system"
	// settings is the ConfigMap that the controllers take flags from.
	settings = "agent-sandbox-config"
	// pageSize bounds how many objects one answer of the API server holds.
	pageSize = 500
)

// Observe reads what Check decides over. It writes nothing: of what it sends, all but the questions for rights are reads, and those
// leave nothing behind. The error says that the cluster cannot be reached, or does not know the user.
func Observe(ctx context.Context, config *rest.Config, target Target) (Seen, error) {
	reader, err := newReader(config)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Now: time.Now()}
	if seen.Version, err = reader.version(ctx); err != nil {
		return Seen{}, err
	}
	if seen.Rights, err = reader.rights(ctx, target); err != nil {
		return Seen{}, err
	}
	seen.APIs = reader.apis(ctx)
	reader.observeCRDs(ctx, target, &seen)
	reader.observeWorkloads(ctx, target, &seen)
	reader.observeCluster(ctx, &seen)
	return seen, nil
}

type reader struct {
	discovery     *discovery.DiscoveryClient
	authorization *authorizationclient.AuthorizationV1Client
	dynamic       dynamic.Interface
}

func newReader(config *rest.Config) (reader, error) {
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return reader{}, fmt.Errorf("creating a client to discover APIs with: %w", err)
	}
	authorization, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return reader{}, fmt.Errorf("creating a client to ask for rights with: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return reader{}, fmt.Errorf("creating a client to read with: %w", err)
	}
	return reader{discovery: disco, authorization: authorization, dynamic: client}, nil
}

func (r reader) apis(ctx context.Context) Answer[[]*metav1.APIResourceList] {
	_, resources, err := r.discovery.ServerGroupsAndResourcesWithContext(ctx)
	// A group whose own API server is down, such as that of metrics, is none of those that are needed.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return Answer[[]*metav1.APIResourceList]{Failed: err.Error()}
	}
	return Answer[[]*metav1.APIResourceList]{Value: resources}
}

// observeCRDs reads the CRDs that are to be installed and are there already, their objects and what their conversion calls.
func (r reader) observeCRDs(ctx context.Context, target Target, seen *Seen) {
	seen.CRDs = r.crds(ctx, target)
	seen.Stored = map[string]Answer[[]Stored]{}
	seen.Webhooks = map[types.NamespacedName]Answer[bool]{}
	for _, want := range target.crds() {
		have := findCRD(seen.CRDs.Value, want.Name)
		if have == nil {
			continue
		}
		if version := servedVersion(have, storageVersion(want)); version != "" {
			at := schema.GroupVersionResource{Group: have.Spec.Group, Version: version, Resource: have.Spec.Names.Plural}
			seen.Stored[have.Name] = list[Stored](ctx, r, at, AllNamespaces)
		}
		if service, found := webhookService(have); found {
			read := get[corev1.Service](ctx, r, core("services"), service)
			seen.Webhooks[service] = Answer[bool]{Value: read.Value != nil, Denied: read.Denied, Failed: read.Failed}
		}
	}
}

// crds reads those that are to be installed by name: a cluster may have very many.
func (r reader) crds(ctx context.Context, target Target) (answer Answer[[]customResource]) {
	of := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	for _, want := range target.crds() {
		read := get[customResource](ctx, r, of, types.NamespacedName{Name: want.Name})
		switch {
		case read.Denied != nil:
			return Answer[[]customResource]{Denied: &Right{Verb: "get", Group: of.Group, Resource: of.Resource}}
		case read.Failed != "":
			return Answer[[]customResource]{Failed: read.Failed}
		case read.Value != nil:
			answer.Value = append(answer.Value, *read.Value)
		}
	}
	return answer
}

func (r reader) observeWorkloads(ctx context.Context, target Target, seen *Seen) {
	apps := appsv1.SchemeGroupVersion.WithResource
	seen.Deployments = list[appsv1.Deployment](ctx, r, apps("deployments"), AllNamespaces)
	seen.StatefulSets = list[appsv1.StatefulSet](ctx, r, apps("statefulsets"), AllNamespaces)
	seen.DaemonSets = list[appsv1.DaemonSet](ctx, r, apps("daemonsets"), AllNamespaces)
	seen.Leases = list[coordinationv1.Lease](ctx, r, coordinationv1.SchemeGroupVersion.WithResource("leases"), target.namespace)
	seen.Namespace = get[corev1.Namespace](ctx, r, core("namespaces"), types.NamespacedName{Name: target.namespace})
	seen.Quotas = list[corev1.ResourceQuota](ctx, r, core("resourcequotas"), target.namespace)
	seen.Ranges = list[corev1.LimitRange](ctx, r, core("limitranges"), target.namespace)
	seen.Settings = get[corev1.ConfigMap](ctx, r, core("configmaps"), types.NamespacedName{Namespace: target.namespace, Name: settings})
}

func (r reader) observeCluster(ctx context.Context, seen *Seen) {
	seen.SystemQuotas = list[corev1.ResourceQuota](ctx, r, core("resourcequotas"), systemNamespace)
	seen.SystemServices = list[corev1.Service](ctx, r, core("services"), systemNamespace)
	seen.CoreDNS = get[corev1.ConfigMap](ctx, r, core("configmaps"), types.NamespacedName{Namespace: systemNamespace, Name: "coredns"})
	seen.Nodes = list[corev1.Node](ctx, r, core("nodes"), "")
	seen.RuntimeClasses = list[nodev1.RuntimeClass](ctx, r, nodev1.SchemeGroupVersion.WithResource("runtimeclasses"), "")
	seen.StorageClasses = list[storagev1.StorageClass](ctx, r, storagev1.SchemeGroupVersion.WithResource("storageclasses"), "")
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// list reads all objects of a resource, page by page. A resource that is not served has none.
func list[T any](ctx context.Context, r reader, of schema.GroupVersionResource, namespace string) (answer Answer[[]T]) {
	from := r.dynamic.Resource(of).Namespace(inPath(namespace))
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := from.List(ctx, options)
		if err != nil {
			answer.Denied, answer.Failed = whyNot(err, Right{Verb: "list", Group: of.Group, Resource: of.Resource, Namespace: namespace})
			return answer
		}
		for _, item := range page.Items {
			var object T
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &object); err != nil {
				answer.Failed = fmt.Sprintf("%s %s cannot be read: %v", of.Resource, item.GetName(), err)
				return answer
			}
			answer.Value = append(answer.Value, object)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return answer
		}
	}
}

// get reads one object, which is nil if it does not exist.
func get[T any](ctx context.Context, r reader, of schema.GroupVersionResource, named types.NamespacedName) (answer Answer[*T]) {
	read, err := r.dynamic.Resource(of).Namespace(named.Namespace).Get(ctx, named.Name, metav1.GetOptions{})
	if err != nil {
		right := Right{Verb: "get", Group: of.Group, Resource: of.Resource, Namespace: named.Namespace, Name: named.Name}
		answer.Denied, answer.Failed = whyNot(err, right)
		return answer
	}
	var object T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, &object); err != nil {
		answer.Failed = fmt.Sprintf("%s %s cannot be read: %v", of.Resource, named.Name, err)
		return answer
	}
	answer.Value = &object
	return answer
}

func inPath(namespace string) string {
	if namespace == AllNamespaces {
		return metav1.NamespaceAll
	}
	return namespace
}

func whyNot(err error, right Right) (denied *Right, failed string) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, ""
	case apierrors.IsForbidden(err):
		return &right, ""
	}
	return nil, err.Error()
}
