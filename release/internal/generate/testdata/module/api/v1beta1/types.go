// Package v1beta1 holds a kind that embeds what Kubernetes documents itself.
//
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Thing is a kind.
//
// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is ours and documented.
	Spec ThingSpec `json:"spec"`
}

// ThingSpec is the wanted state.
type ThingSpec struct {
	// PodTemplate is ours and documented.
	PodTemplate corev1.PodTemplateSpec `json:"podTemplate"`

	// Claims are ours and documented.
	Claims []Claim `json:"claims,omitempty"`
}

// Claim is a template of a PersistentVolumeClaim.
type Claim struct {
	// Spec is ours and documented.
	Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
}
