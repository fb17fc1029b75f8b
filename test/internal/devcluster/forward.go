package devcluster

import (
	"fmt"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

// PodPortAnnotation is on every simulated node: the port of this machine's loopback that answers for all ports of the node's Pods, which
// have no containers of their own. Whoever listens there is reached by `kubectl port-forward` to such a Pod.
const PodPortAnnotation = "devcluster.agents.x-k8s.io/pod-port"

// forwardingTo tells KWOK where to forward ports of Pods to.
func forwardingTo(port int) string {
	return fmt.Sprintf(`
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata:
  name: all-pods
spec:
  forwards:
  - target:
      address: %s
      port: %d
`, ports.Loopback, port)
}
