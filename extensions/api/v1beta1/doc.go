// Package v1beta1 holds the API of the extensions: templates, warm pools and claims, with their condition reasons.
//
// +kubebuilder:object:generate=true
// +groupName=extensions.agents.x-k8s.io
package v1beta1
