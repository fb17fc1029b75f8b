package v1beta1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// NetworkPolicyManagement says who keeps the NetworkPolicy of a template's Pods.
// +kubebuilder:validation:Enum=Managed;Unmanaged
type NetworkPolicyManagement string

const (
	// NetworkPolicyManaged : one NetworkPolicy for all Pods of the template is kept in step with it.
	NetworkPolicyManaged NetworkPolicyManagement = "Managed"
	// NetworkPolicyUnmanaged : there is none of ours.
	NetworkPolicyUnmanaged NetworkPolicyManagement = "Unmanaged"
)

// EnvVarsInjectionPolicy says whether a claim may set environment variables.
// +kubebuilder:validation:Enum=Allowed;Overrides;Disallowed
type EnvVarsInjectionPolicy string

const (
	// EnvVarsAllowed : new names only.
	EnvVarsAllowed EnvVarsInjectionPolicy = "Allowed"
	// EnvVarsOverrides : those of the template may be replaced too.
	EnvVarsOverrides EnvVarsInjectionPolicy = "Overrides"
	// EnvVarsDisallowed : none.
	EnvVarsDisallowed EnvVarsInjectionPolicy = "Disallowed"
)

// VolumeClaimTemplatesPolicy says whether a claim may bring volumeClaimTemplates.
// +kubebuilder:validation:Enum=Disallowed;Allowed;Overrides
type VolumeClaimTemplatesPolicy string

const (
	// VolumeClaimTemplatesDisallowed : none.
	VolumeClaimTemplatesDisallowed VolumeClaimTemplatesPolicy = "Disallowed"
	// VolumeClaimTemplatesAllowed : new names only.
	VolumeClaimTemplatesAllowed VolumeClaimTemplatesPolicy = "Allowed"
	// VolumeClaimTemplatesOverrides : those of the template may be replaced too.
	VolumeClaimTemplatesOverrides VolumeClaimTemplatesPolicy = "Overrides"
)

// SandboxBlueprint is what a Sandbox is built from. A change makes the members of a pool stale; a change of the Pod's
// metadata alone does not.
type SandboxBlueprint struct {
	// PodTemplate describes the Pod. automountServiceAccountToken is false unless it is set here.
	// +required
	PodTemplate sandboxv1beta1.PodTemplate `json:"podTemplate"`

	// VolumeClaimTemplates become PersistentVolumeClaims that outlive the Pod and go with the Sandbox.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []sandboxv1beta1.PersistentVolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// Service asks for a headless Service of each Sandbox.
	// +optional
	Service *bool `json:"service,omitempty"`

	// PodFailurePolicy says what becomes of a Pod that failed: Ignore keeps it, Recreate replaces it.
	// +optional
	// +kubebuilder:default=Ignore
	PodFailurePolicy sandboxv1beta1.PodFailurePolicy `json:"podFailurePolicy,omitempty"`
}

// NetworkPolicySpec are the rules of a template's NetworkPolicy. An empty list denies.
type NetworkPolicySpec struct {
	// Ingress rules, as in a NetworkPolicy.
	// +optional
	// +listType=atomic
	Ingress []networkingv1.NetworkPolicyIngressRule `json:"ingress,omitempty"`

	// Egress rules, as in a NetworkPolicy.
	// +optional
	// +listType=atomic
	Egress []networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}

// SandboxTemplateSpec is the wanted state of a SandboxTemplate.
type SandboxTemplateSpec struct {
	SandboxBlueprint `json:",inline"`

	// NetworkPolicy replaces the secure default: these rules exactly, an empty list denies. Unset and Managed, Pods are
	// reached by the router alone and reach public addresses alone.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// NetworkPolicyManagement is Managed: one NetworkPolicy for all Pods of this template, or Unmanaged: none of ours.
	// +optional
	// +kubebuilder:default=Managed
	NetworkPolicyManagement NetworkPolicyManagement `json:"networkPolicyManagement,omitempty"`

	// EnvVarsInjectionPolicy says whether a claim may set environment variables: Disallowed, Allowed (new names only, and
	// no container with envFrom), Overrides.
	// +optional
	// +kubebuilder:default=Disallowed
	EnvVarsInjectionPolicy EnvVarsInjectionPolicy `json:"envVarsInjectionPolicy,omitempty"`

	// VolumeClaimTemplatesPolicy says whether a claim may bring volumeClaimTemplates: Disallowed, Allowed (new names
	// only), Overrides.
	// +optional
	// +kubebuilder:default=Disallowed
	VolumeClaimTemplatesPolicy VolumeClaimTemplatesPolicy `json:"volumeClaimTemplatesPolicy,omitempty"`
}

// SandboxTemplateStatus is the observed state of a SandboxTemplate.
type SandboxTemplateStatus struct {
	// Conditions: Ready, whether the NetworkPolicy is as the template wants it; RouterReachable where there is one.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// SandboxTemplate is what the Sandboxes of warm pools and claims are built from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sandboxtemplate
type SandboxTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state.
	// +required
	Spec SandboxTemplateSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	Status SandboxTemplateStatus `json:"status,omitempty"`
}

// SandboxTemplateList is a list of SandboxTemplates.
//
// +kubebuilder:object:root=true
type SandboxTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SandboxTemplates.
	Items []SandboxTemplate `json:"items"`
}
