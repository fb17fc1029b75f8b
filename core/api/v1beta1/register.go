package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of Sandbox.
const GroupName = "agents.x-k8s.io"

// ExtensionsGroupName is the API group of SandboxTemplate, SandboxWarmPool and SandboxClaim. The core knows
// it as data only: a Sandbox controlled by an object of this group may carry labels that others may not.
const ExtensionsGroupName = "extensions.agents.x-k8s.io"

// SandboxKind is the kind of Sandbox as it stands in owner references.
const SandboxKind = "Sandbox"

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

	// SchemeBuilder collects the functions that add this package's types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Sandbox{}, &SandboxList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
