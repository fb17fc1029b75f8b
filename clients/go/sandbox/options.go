package sandbox

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Runtime is what answers in the sandboxes.
type Runtime string

const (
	// RuntimeLegacy is the older runtime API on ServerPort. It is the default.
	RuntimeLegacy Runtime = "legacy-python"
	// RuntimeSandboxd is the daemon sandboxd on its own two ports.
	RuntimeSandboxd Runtime = "sandboxd"
)

// Connectivity is the way to the sandboxes.
type Connectivity string

const (
	// ConnectivityAuto takes APIURL if that is set, else the Gateway if one is named, else a port-forward to the router.
	ConnectivityAuto Connectivity = ""
	// ConnectivityDirect goes to the router at APIURL.
	ConnectivityDirect Connectivity = "direct"
	// ConnectivityGateway goes to the router at the address that the Gateway publishes.
	ConnectivityGateway Connectivity = "gateway"
	// ConnectivityPortForward goes to a Pod of the router through the API server.
	ConnectivityPortForward Connectivity = "port-forward"
	// ConnectivityPodTunnel goes to the sandbox's own Pod through the API server, without a router.
	ConnectivityPodTunnel Connectivity = "pod-tunnel"
	// ConnectivityInCluster goes straight to the address of the sandbox's Pod, without a router: from within the cluster, and where the
	// template's NetworkPolicy lets the client in.
	ConnectivityInCluster Connectivity = "in-cluster"
)

// Options of a Client. The zero value claims in the namespace default, by the kubeconfig or the service account at hand, and reaches the
// router through the API server.
type Options struct {
	// WarmPoolName is the pool where CreateSandbox names none. A client of existing claims needs none.
	WarmPoolName string
	// Namespace is that of the claims where a call names none; default "default".
	Namespace string
	// Env is set in each sandbox that the client claims. It makes them start cold, and the template has to allow it.
	Env []extensionsv1beta1.EnvVar

	// Runtime is what answers in the sandboxes; default RuntimeLegacy.
	Runtime Runtime
	// ServerPort is that of RuntimeLegacy; default 8888.
	ServerPort int
	// SandboxdRESTPort and SandboxdGRPCPort are those of RuntimeSandboxd; default 8080 and 9090.
	SandboxdRESTPort, SandboxdGRPCPort int

	// Connectivity is the way to the sandboxes; default ConnectivityAuto.
	Connectivity Connectivity
	// APIURL is the router's, for ConnectivityDirect.
	APIURL string
	// GatewayName, GatewayNamespace and GatewayScheme are for ConnectivityGateway; default namespace is Namespace, default scheme "http".
	GatewayName, GatewayNamespace, GatewayScheme string
	// RouterNamespace is where the router runs, for ConnectivityPortForward; default "agent-sandbox-system".
	RouterNamespace string
	// RouterToken returns what the router is to authenticate the caller by, for each request; nil sends none. No sandbox sees it.
	RouterToken func(context.Context) (string, error)
	// DisablePodIPRouting has the router find the Pod by the Sandbox's name alone, rather than by the address that the claim published.
	DisablePodIPRouting bool
	// HTTPTransport carries the requests; default is net/http's, without compression. For RuntimeSandboxd it has to be a *http.Transport,
	// whose dialer and TLS configuration gRPC uses likewise.
	HTTPTransport http.RoundTripper

	// RESTConfig reaches the API server; default is what kubectl would use, else the service account of the Pod.
	RESTConfig *rest.Config
	// Logger is told what is waited for, and what goes wrong in the background; default writes to standard error.
	Logger logr.Logger
	// Quiet leaves the default Logger out.
	Quiet bool
	// TracerProvider gets a span for each operation; nil traces nothing. Of a command it is told the program's base name alone.
	TracerProvider trace.TracerProvider
	// TraceServiceName is the name of the tracer; default "agent-sandbox-go-client".
	TraceServiceName string

	// SandboxReadyTimeout bounds how long a sandbox may take to become ready, to be suspended or to be resumed; default 180 s.
	SandboxReadyTimeout time.Duration
	// GatewayReadyTimeout bounds how long a Gateway may take to publish its address; default 180 s.
	GatewayReadyTimeout time.Duration
	// PortForwardReadyTimeout bounds how long a port-forward may take to be up; default 30 s.
	PortForwardReadyTimeout time.Duration
	// CleanupTimeout bounds the deletion of a claim, and its creation once the caller gave up; default 30 s.
	CleanupTimeout time.Duration
	// RequestTimeout bounds a command or an operation on a file, all attempts together; default 180 s. Streams have no limit of their own.
	RequestTimeout time.Duration
	// PerAttemptTimeout bounds each of several attempts until the answer begins; default 60 s.
	PerAttemptTimeout time.Duration
	// MaxUploadSize and MaxDownloadSize bound what Write and Read hold in memory, in bytes; default 256 MiB.
	MaxUploadSize, MaxDownloadSize int64
}

// Defaults of Options.
const (
	defaultNamespace       = "default"
	defaultRouterNamespace = "agent-sandbox-system"
	defaultGatewayScheme   = "http"
	defaultTracer          = "agent-sandbox-go-client"
	defaultServerPort      = 8888
	defaultRESTPort        = 8080
	defaultGRPCPort        = 9090
	defaultReadyTimeout    = 180 * time.Second
	defaultForwardTimeout  = 30 * time.Second
	defaultCleanupTimeout  = 30 * time.Second
	defaultRequestTimeout  = 180 * time.Second
	defaultAttemptTimeout  = 60 * time.Second
	defaultMaxFile         = 256 << 20
)

// completed returns the options with what was left out.
func (o Options) completed() Options {
	setDefault(&o.Namespace, defaultNamespace)
	setDefault(&o.GatewayNamespace, o.Namespace)
	setDefault(&o.GatewayScheme, defaultGatewayScheme)
	setDefault(&o.RouterNamespace, defaultRouterNamespace)
	setDefault(&o.TraceServiceName, defaultTracer)
	setDefault(&o.Runtime, RuntimeLegacy)
	setDefault(&o.ServerPort, defaultServerPort)
	setDefault(&o.SandboxdRESTPort, defaultRESTPort)
	setDefault(&o.SandboxdGRPCPort, defaultGRPCPort)
	setDefault(&o.SandboxReadyTimeout, defaultReadyTimeout)
	setDefault(&o.GatewayReadyTimeout, defaultReadyTimeout)
	setDefault(&o.PortForwardReadyTimeout, defaultForwardTimeout)
	setDefault(&o.CleanupTimeout, defaultCleanupTimeout)
	setDefault(&o.RequestTimeout, defaultRequestTimeout)
	setDefault(&o.PerAttemptTimeout, defaultAttemptTimeout)
	setDefault(&o.MaxUploadSize, defaultMaxFile)
	setDefault(&o.MaxDownloadSize, defaultMaxFile)
	if o.Connectivity == ConnectivityAuto {
		o.Connectivity = o.chosen()
	}
	return o
}

func (o Options) chosen() Connectivity {
	switch {
	case o.APIURL != "":
		return ConnectivityDirect
	case o.GatewayName != "":
		return ConnectivityGateway
	default:
		return ConnectivityPortForward
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
