package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpdateStrategyType says when the stale members of a pool are replaced.
// +kubebuilder:validation:Enum=Recreate;OnReplenish
type UpdateStrategyType string

const (
	// UpdateStrategyRecreate : at once.
	UpdateStrategyRecreate UpdateStrategyType = "Recreate"
	// UpdateStrategyOnReplenish : as claims take them.
	UpdateStrategyOnReplenish UpdateStrategyType = "OnReplenish"
)

// SandboxTemplateRef names a SandboxTemplate of the same namespace.
type SandboxTemplateRef struct {
	// Name of the SandboxTemplate.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// UpdateStrategy says when the stale members of a pool are replaced.
type UpdateStrategy struct {
	// Type is OnReplenish: stale members are handed out and their successors are built anew, or Recreate: stale members
	// that no claim has taken are deleted at once.
	// +optional
	// +kubebuilder:default=OnReplenish
	Type UpdateStrategyType `json:"type,omitempty"`
}

// SandboxWarmPoolSpec is the wanted state of a SandboxWarmPool.
type SandboxWarmPoolSpec struct {
	// Replicas is how many Sandboxes wait for claims. With 0 every claim starts its Sandbox cold.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// SandboxTemplateRef names the template that members are built from.
	// +required
	SandboxTemplateRef SandboxTemplateRef `json:"sandboxTemplateRef"`

	// UpdateStrategy says when stale members are replaced.
	// +optional
	// +kubebuilder:default={type: OnReplenish}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// ReadinessGracePeriodSeconds is how long a member may take to become Ready before it is replaced. Unset, the flag
	// --sandbox-warm-pool-readiness-grace-period decides.
	// +optional
	// +kubebuilder:validation:Minimum=30
	ReadinessGracePeriodSeconds *int32 `json:"readinessGracePeriodSeconds,omitempty"`
}

// SandboxWarmPoolStatus is the observed state of a SandboxWarmPool.
type SandboxWarmPoolStatus struct {
	// Replicas is how many members exist, those on their way out included.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many members a claim could take now.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// UpdatedReadyReplicas is how many of those are built from the template as it is now.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

	// Selector selects the Pods of members, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Progressing.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// SandboxWarmPool keeps Sandboxes running that wait for claims.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:scope=Namespaced,shortName=swp
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type SandboxWarmPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state.
	// +required
	Spec SandboxWarmPoolSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	Status SandboxWarmPoolStatus `json:"status,omitempty"`
}

// SandboxWarmPoolList is a list of SandboxWarmPools.
//
// +kubebuilder:object:root=true
type SandboxWarmPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SandboxWarmPools.
	Items []SandboxWarmPool `json:"items"`
}
