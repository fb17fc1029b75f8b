// Package v1beta1 holds the Sandbox API: its types, the condition types and reasons of its status, and
// the label and annotation keys that the whole system agrees on.
//
// +kubebuilder:object:generate=true
// +groupName=agents.x-k8s.io
package v1beta1
