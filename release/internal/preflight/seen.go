package preflight

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

// Seen is what was read of a cluster.
type Seen struct {
	// Now is when it was read.
	Now time.Time
	// Version of the API server.
	Version Answer[*version.Info]
	// APIs are the resources that are served, by group and version.
	APIs Answer[[]*metav1.APIResourceList]
	// Rights are those that were asked for, and whether the user has them.
	Rights Answer[map[Right]bool]
	// CRDs that are to be installed and are there already.
	CRDs Answer[[]apiextensionsv1.CustomResourceDefinition]
	// Stored are their objects, by the CRD's name.
	Stored map[string]Answer[[]Stored]
	// Webhooks says of each Service that such a CRD's conversion calls whether it is there.
	Webhooks map[types.NamespacedName]Answer[bool]
	// Deployments of all namespaces.
	Deployments Answer[[]appsv1.Deployment]
	// StatefulSets of all namespaces.
	StatefulSets Answer[[]appsv1.StatefulSet]
	// DaemonSets of all namespaces.
	DaemonSets Answer[[]appsv1.DaemonSet]
	// Leases of the namespace of the controllers.
	Leases Answer[[]coordinationv1.Lease]
	// Namespace of the controllers; nil if there is none.
	Namespace Answer[*corev1.Namespace]
	// Quotas of that namespace.
	Quotas Answer[[]corev1.ResourceQuota]
	// Ranges are its LimitRanges.
	Ranges Answer[[]corev1.LimitRange]
	// SystemQuotas are those of kube-system.
	SystemQuotas Answer[[]corev1.ResourceQuota]
	// Nodes of the cluster.
	Nodes Answer[[]corev1.Node]
	// RuntimeClasses of the cluster.
	RuntimeClasses Answer[[]nodev1.RuntimeClass]
	// StorageClasses of the cluster.
	StorageClasses Answer[[]storagev1.StorageClass]
	// SystemServices are the Services of kube-system.
	SystemServices Answer[[]corev1.Service]
	// CoreDNS is the ConfigMap of CoreDNS in kube-system; nil if there is none.
	CoreDNS Answer[*corev1.ConfigMap]
	// Settings is the ConfigMap of the controllers' flags; nil if there is none.
	Settings Answer[*corev1.ConfigMap]
}

// Stored is an object of a CRD that is to be installed, as far as the checks look at it.
type Stored struct {
	// Metadata of the object.
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	// Spec names the RuntimeClass that its Pod asks for.
	Spec struct {
		PodTemplate struct {
			Spec struct {
				RuntimeClassName string `json:"runtimeClassName"`
			} `json:"spec"`
		} `json:"podTemplate"`
	} `json:"spec"`
}

// Answer is what one read brought.
type Answer[T any] struct {
	// Value is what was read. What does not exist is no failure, but its zero value.
	Value T
	// Denied is the right that the user does not have; nil if the read was allowed.
	Denied *Right
	// Failed is what else went wrong.
	Failed string
}

// unknown says why there is no value. It is empty if there is one.
func (a Answer[T]) unknown(object string) []Finding {
	switch {
	case a.Denied != nil:
		finding := Finding{Result: Unknown, Object: object, Meaning: fmt.Sprintf("not looked at, since you may not %s", a.Denied)}
		return []Finding{finding.with("kubectl auth can-i " + a.Denied.arguments())}
	case a.Failed != "":
		return []Finding{{Result: Unknown, Object: object, Meaning: "not looked at: " + a.Failed}}
	}
	return nil
}

// AllNamespaces as the namespace of a Right.
const AllNamespaces = "*"

// Right is one that a user may have.
type Right struct {
	// Verb, such as list.
	Verb string
	// Group of the API; empty for the core's.
	Group string
	// Resource, such as pods or pods/log.
	Resource string
	// Namespace that it is for: AllNamespaces, or empty for what has none.
	Namespace string
	// Name of the only object that it is for; empty for all.
	Name string
}

// String tells the right as one says it.
func (r Right) String() string {
	text := r.Verb + " " + r.on()
	if r.Name != "" {
		text += " " + r.Name
	}
	switch r.Namespace {
	case "":
		return text
	case AllNamespaces:
		return text + " in all namespaces"
	}
	return text + " in namespace " + r.Namespace
}

// on is the resource with its group, as kubectl names it.
func (r Right) on() string {
	resource, subresource, found := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if found {
		resource += "/" + subresource
	}
	return resource
}

// arguments are those of kubectl auth can-i, which warns of a resource without namespaces unless it is asked for all of them.
func (r Right) arguments() string {
	resource, subresource, found := strings.Cut(r.Resource, "/")
	text := r.Verb + " " + Right{Group: r.Group, Resource: resource}.on()
	if r.Name != "" {
		text += "/" + r.Name
	}
	if found {
		text += " --subresource=" + subresource
	}
	if r.Namespace == "" || r.Namespace == AllNamespaces {
		return text + " --all-namespaces"
	}
	return text + " --namespace " + r.Namespace
}
