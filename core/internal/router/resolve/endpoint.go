package resolve

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// Endpoint is where a sandbox can be reached.
type Endpoint struct {
	// Sandbox is whose it is, whatever the request called it.
	Sandbox types.NamespacedName
	// Host is an address, without brackets, or a DNS name.
	Host string
	// Pod is the UID of the Pod behind it; empty where it is not known.
	Pod types.UID
	// Life ends when that Pod is known to be gone.
	Life context.Context // It is the Pod's, not that of a call.
}

// Reason is why a sandbox cannot be reached, in a word for metrics.
type Reason string

// Reasons.
const (
	// Unknown : there is no such Sandbox.
	Unknown Reason = "unknown_sandbox"
	// NotReady : the Sandbox has no Pod that is ready.
	NotReady Reason = "not_ready"
	// Unclaimed : the Sandbox waits in a warm pool, where it is nobody's.
	Unclaimed Reason = "unclaimed"
	// Several : more than one Pod says that it is the Sandbox's, of which one is not.
	Several Reason = "several_pods"
	// LookupFailed : the API server did not say.
	LookupFailed Reason = "lookup_failed"
)

// Failure is an error that says why there is no endpoint.
type Failure struct {
	Reason Reason
	// Cause is what went wrong with a lookup; nil where nothing did. It is for operators, not for clients.
	Cause error
}

// Error tells it to the client of the router.
func (f *Failure) Error() string {
	switch f.Reason {
	case Unknown:
		return "there is no such Sandbox"
	case NotReady:
		return "it has no Pod that is ready"
	case Unclaimed:
		return "it waits in a warm pool: claim it first"
	case Several:
		return "more than one Pod claims to be its own"
	case LookupFailed:
		return "the API server could not be asked about it"
	}
	return string(f.Reason)
}

// Unwrap returns the Cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Direct resolves without knowing any Pod: it believes the request.
type Direct struct {
	clusterDomain string
}

// NewDirect returns a Direct for a cluster whose DNS names end in that domain.
func NewDirect(clusterDomain string) *Direct { return &Direct{clusterDomain: clusterDomain} }

// Resolve takes the address of the request, else the name of the Service that a sandbox may have. It never fails.
func (d *Direct) Resolve(_ context.Context, wanted target.Target) (Endpoint, error) {
	found := Endpoint{Sandbox: wanted.Sandbox, Host: serviceHost(wanted.Sandbox, d.clusterDomain), Life: context.Background()}
	if wanted.PodIP.IsValid() {
		found.Host = wanted.PodIP.String()
	}
	return found, nil
}

// Evict does nothing, since nothing is remembered; it returns false.
func (*Direct) Evict(Endpoint) bool { return false }

func serviceHost(sandbox types.NamespacedName, clusterDomain string) string {
	return fmt.Sprintf("%s.%s.svc.%s", sandbox.Name, sandbox.Namespace, clusterDomain)
}
