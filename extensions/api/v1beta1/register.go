package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// GroupName is the API group of the extensions.
const GroupName = sandboxv1beta1.ExtensionsGroupName

// Kinds as they stand in owner references.
const (
	// SandboxTemplateKind is the kind of SandboxTemplate.
	SandboxTemplateKind = "SandboxTemplate"
	// SandboxWarmPoolKind is the kind of SandboxWarmPool.
	SandboxWarmPoolKind = sandboxv1beta1.WarmPoolKind
	// SandboxClaimKind is the kind of SandboxClaim.
	SandboxClaimKind = sandboxv1beta1.ClaimKind
)

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

	// SchemeBuilder collects the functions that add this package's types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&SandboxTemplate{}, &SandboxTemplateList{},
		&SandboxWarmPool{}, &SandboxWarmPoolList{},
		&SandboxClaim{}, &SandboxClaimList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
