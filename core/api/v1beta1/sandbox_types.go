package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatingMode says whether a Sandbox has a Pod.
// +kubebuilder:validation:Enum=Running;Suspended
type OperatingMode string

const (
	// OperatingModeRunning asks for a running Pod.
	OperatingModeRunning OperatingMode = "Running"
	// OperatingModeSuspended asks for no Pod, with PVCs and Service kept.
	OperatingModeSuspended OperatingMode = "Suspended"
)

// ShutdownPolicy says what becomes of the Sandbox object when its shutdownTime has come.
// +kubebuilder:validation:Enum=Delete;Retain
type ShutdownPolicy string

const (
	// ShutdownPolicyDelete deletes the Sandbox, and with it everything it owns, PVCs included.
	ShutdownPolicyDelete ShutdownPolicy = "Delete"
	// ShutdownPolicyRetain deletes Pod and Service and keeps the Sandbox with its PVCs.
	ShutdownPolicyRetain ShutdownPolicy = "Retain"
)

// PodFailurePolicy says what becomes of a Pod that reached the phase Failed.
// +kubebuilder:validation:Enum=Ignore;Recreate
type PodFailurePolicy string

const (
	// PodFailurePolicyIgnore keeps the failed Pod for inspection; the Sandbox reports Finished.
	PodFailurePolicyIgnore PodFailurePolicy = "Ignore"
	// PodFailurePolicyRecreate replaces the failed Pod, with the same PVCs, after a growing pause of at most five minutes.
	PodFailurePolicyRecreate PodFailurePolicy = "Recreate"
)

// PodMetadata is the metadata that a Pod inherits from its Sandbox.
type PodMetadata struct {
	// Labels are put on the Pod and kept in step with it while it runs. Keys under agents.x-k8s.io/ and
	// under the API groups that build on it belong to the system and are dropped.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are put on the Pod and kept in step with it while it runs. Keys under agents.x-k8s.io/ and
	// under the API groups that build on it, and opentelemetry.io/trace-context, belong to the system and are dropped.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate describes the Pod of a Sandbox.
type PodTemplate struct {
	// Metadata is inherited by the Pod.
	// +optional
	Metadata PodMetadata `json:"metadata,omitempty"`

	// Spec is what the Pod is created from, as in a Pod. Later edits do not touch a Pod that runs: suspend and
	// resume the Sandbox to apply them.
	// +required
	Spec corev1.PodSpec `json:"spec"`
}

// EmbeddedObjectMetadata is the metadata of an object made from a template.
type EmbeddedObjectMetadata struct {
	// Name of the template. The object made from it is named <this name>-<Sandbox name>.
	// +optional
	Name string `json:"name,omitempty"`

	// Labels of the object made from the template.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the object made from the template.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PersistentVolumeClaimTemplate describes a PersistentVolumeClaim that lives as long as its Sandbox.
type PersistentVolumeClaimTemplate struct {
	// Metadata names the template and labels the PersistentVolumeClaim. A volume of the Pod that has the
	// template's name is replaced by the PersistentVolumeClaim.
	// +optional
	Metadata EmbeddedObjectMetadata `json:"metadata,omitempty"`

	// Spec of the PersistentVolumeClaim.
	// +required
	Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
}

// SandboxSpec is the wanted state of a Sandbox.
// +kubebuilder:validation:XValidation:rule="has(self.volumeClaimTemplates) && size(self.volumeClaimTemplates) > 0 ? has(oldSelf.volumeClaimTemplates) && self.volumeClaimTemplates == oldSelf.volumeClaimTemplates : !has(oldSelf.volumeClaimTemplates) || size(oldSelf.volumeClaimTemplates) == 0",message="volumeClaimTemplates is immutable"
type SandboxSpec struct {
	// PodTemplate describes the Pod.
	// +required
	PodTemplate PodTemplate `json:"podTemplate"`

	// VolumeClaimTemplates become PersistentVolumeClaims that outlive the Pod and go with the Sandbox.
	// They cannot be changed once the Sandbox exists.
	// +optional
	// +listType=atomic
	VolumeClaimTemplates []PersistentVolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// Service asks for a headless Service of the Sandbox's name, and so for a DNS name: true makes one, false
	// deletes the one that the Sandbox owns, unset leaves things as they are and makes none.
	// +optional
	Service *bool `json:"service,omitempty"`

	// OperatingMode is Running, or Suspended: no Pod, while PersistentVolumeClaims and Service are kept.
	// +optional
	// +kubebuilder:default=Running
	OperatingMode OperatingMode `json:"operatingMode,omitempty"`

	// ShutdownTime is when the Sandbox expires (RFC 3339): its Pod and Service are deleted. Unset means never.
	// Moved into the future later, it brings a retained Sandbox back, with its PersistentVolumeClaims.
	// +optional
	ShutdownTime *metav1.Time `json:"shutdownTime,omitempty"`

	// ShutdownPolicy says what becomes of the Sandbox object itself at shutdownTime: Delete or Retain.
	// +optional
	// +kubebuilder:default=Retain
	ShutdownPolicy ShutdownPolicy `json:"shutdownPolicy,omitempty"`

	// PodFailurePolicy says what becomes of a Pod that failed (evicted, lost with its node, crashed under
	// restartPolicy Never): Ignore keeps it, Recreate replaces it.
	// +optional
	// +kubebuilder:default=Ignore
	PodFailurePolicy PodFailurePolicy `json:"podFailurePolicy,omitempty"`
}

// SandboxStatus is the observed state of a Sandbox.
type SandboxStatus struct {
	// Conditions: Ready, Suspended and PodScheduled; Finished once the Pod has ended; PodTemplateDrifted while
	// the running Pod differs from the podTemplate; PodRecreating while a failed Pod waits to be replaced.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// Service is the name of the headless Service; empty without one.
	// +optional
	Service string `json:"service,omitempty"`

	// ServiceFQDN is the DNS name of the headless Service; empty without one.
	// +optional
	ServiceFQDN string `json:"serviceFQDN,omitempty"`

	// LabelSelector selects the Pod of this Sandbox. It stays while the Sandbox is suspended.
	// +optional
	LabelSelector string `json:"selector,omitempty"`

	// PodIPs are all IPs of the Pod, while it exists.
	// +optional
	// +listType=atomic
	PodIPs []string `json:"podIPs,omitempty"`

	// NodeName is the node that the Pod runs on, while it exists.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}

// Sandbox is an isolated, stateful, single Pod with a stable name: it can be suspended and resumed with its
// disks, and it can expire.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sandbox
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",priority=1
// +kubebuilder:printcolumn:name="PodIP",type="string",JSONPath=".status.podIPs[0]",priority=1
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.operatingMode",priority=1
// +kubebuilder:validation:XValidation:rule="!has(self.spec.service) || !self.spec.service || oldSelf.optMap(old, has(old.spec.service) && old.spec.service).orValue(false) || (size(self.metadata.name) <= 63 && !self.metadata.name.contains('.'))",message="spec.service: true needs a name that is a DNS label (63 characters at most, no dot): shorten metadata.name or leave spec.service unset",optionalOldSelf=true
type Sandbox struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state.
	// +required
	Spec SandboxSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	Status SandboxStatus `json:"status,omitempty"`
}

// SandboxList is a list of Sandboxes.
//
// +kubebuilder:object:root=true
type SandboxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Sandboxes.
	Items []Sandbox `json:"items"`
}
