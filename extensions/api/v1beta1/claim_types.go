package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// ShutdownPolicy says what becomes of a claim that expires. Its Sandbox is deleted whatever the policy.
// +kubebuilder:validation:Enum=Delete;DeleteForeground;Retain
type ShutdownPolicy string

const (
	// ShutdownPolicyDelete deletes the claim.
	ShutdownPolicyDelete ShutdownPolicy = "Delete"
	// ShutdownPolicyDeleteForeground deletes the claim, which stays until its Sandbox and Pod are gone.
	ShutdownPolicyDeleteForeground ShutdownPolicy = "DeleteForeground"
	// ShutdownPolicyRetain keeps the claim, with the reason ClaimExpired.
	ShutdownPolicyRetain ShutdownPolicy = "Retain"
)

// SandboxWarmPoolRef names a SandboxWarmPool of the same namespace.
type SandboxWarmPoolRef struct {
	// Name of the SandboxWarmPool.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// Lifecycle says when a claim expires: at the earlier of its two times.
type Lifecycle struct {
	// ShutdownTime is when the claim expires (RFC 3339). Unset means never.
	// +optional
	ShutdownTime *metav1.Time `json:"shutdownTime,omitempty"`

	// TTLSecondsAfterFinished is how long after the end of its Pod the claim expires; 0 is at once. Unset means never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// ShutdownPolicy says what becomes of the claim itself: Retain, Delete, or DeleteForeground. Its Sandbox is deleted.
	// +optional
	// +kubebuilder:default=Retain
	ShutdownPolicy ShutdownPolicy `json:"shutdownPolicy,omitempty"`
}

// EnvVar is an environment variable for one container.
type EnvVar struct {
	// Name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Value of the variable.
	// +optional
	Value string `json:"value,omitempty"`

	// ContainerName names the container, which may be an init container; without it, the first regular one is meant.
	// +optional
	ContainerName string `json:"containerName,omitempty"`
}

// SandboxClaimSpec is the wanted state of a SandboxClaim.
type SandboxClaimSpec struct {
	// WarmPoolRef names the pool to take a Sandbox from. Once the claim has its Sandbox, a change has no effect.
	// +required
	WarmPoolRef SandboxWarmPoolRef `json:"warmPoolRef"`

	// Lifecycle says when the claim expires.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`

	// AdditionalPodMetadata is put on the Pod, which goes on running. Labels need a domain that the administrator allows.
	// +optional
	AdditionalPodMetadata sandboxv1beta1.PodMetadata `json:"additionalPodMetadata,omitempty"`

	// Env are environment variables for the Pod, where the template's envVarsInjectionPolicy allows it. The Sandbox is
	// then started cold, since those of a Pod that runs cannot be changed.
	// +optional
	// +listType=atomic
	Env []EnvVar `json:"env,omitempty"`

	// VolumeClaimTemplates are added to those of the template, where its volumeClaimTemplatesPolicy allows it. The
	// Sandbox is then started cold.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []sandboxv1beta1.PersistentVolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`
}

// ClaimedSandbox is the Sandbox of a claim.
type ClaimedSandbox struct {
	// Name of the Sandbox, in the claim's namespace. While that Sandbox exists it never changes.
	// +optional
	Name string `json:"name,omitempty"`

	// PodIPs are all IPs of its Pod, while it exists.
	// +optional
	// +listType=atomic
	PodIPs []string `json:"podIPs,omitempty"`
}

// SandboxClaimStatus is the observed state of a SandboxClaim.
type SandboxClaimStatus struct {
	// Conditions: Ready, as that of the Sandbox; Finished once its Pod has ended; ColdStart where the Sandbox was started for the claim.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// Sandbox is the claim's own.
	// +optional
	Sandbox ClaimedSandbox `json:"sandbox,omitempty"`
}

// SandboxClaim asks for a Sandbox of one's own, from a warm pool or, where that has none, started cold.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sandboxclaim
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Sandbox",type="string",JSONPath=".status.sandbox.name"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type SandboxClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state.
	// +required
	Spec SandboxClaimSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	Status SandboxClaimStatus `json:"status,omitempty"`
}

// SandboxClaimList is a list of SandboxClaims.
//
// +kubebuilder:object:root=true
type SandboxClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SandboxClaims.
	Items []SandboxClaim `json:"items"`
}
