package sandbox

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// Index is what objects of a kind are looked up by in the cache.
type Index struct {
	Of   client.Object
	Name string
	By   client.IndexerFunc
}

// Indexes returns every index that a Reconciler reads.
func Indexes() []Index {
	return []Index{
		{&corev1.Pod{}, podsByController, ownership.IndexByController(sandboxKind())},
		{&sandboxv1beta1.Sandbox{}, obstacleIndex, obstacleOf},
	}
}
