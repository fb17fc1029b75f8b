// Package thing carries the markers that a controller's role is made from.
package thing

// +kubebuilder:rbac:groups=example.com,resources=things,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=example.com,resources=things/status,verbs=patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=agent-sandbox-system,resources=leases,verbs=create;get;update

// Reconcile stands for a method that uses the API.
func Reconcile() {}
