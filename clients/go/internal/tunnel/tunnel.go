package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// Loopback is where a tunnel listens unless told otherwise: no other machine reaches it.
const Loopback = "127.0.0.1"

// ErrDied says that a tunnel lost its connection: the Pod, its node or the API server went away. Another tunnel can be opened.
var ErrDied = errors.New("the port-forward died")

// Options say what is forwarded.
type Options struct {
	// Config reaches the API server; it needs the right to create pods/portforward.
	Config *rest.Config
	// Namespace and Pod name the Pod.
	Namespace, Pod string
	// Ports are pairs as kubectl writes them, "8080:80": the local port, 0 or left out for a free one, and that of the Pod.
	Ports []string
	// Addresses to listen on; none means Loopback.
	Addresses []string
	// Out is told of each port and connection, ErrOut of ports that cannot be had; nil means nobody.
	Out, ErrOut io.Writer
	// Logger is told of connections that fail. The zero value discards it.
	Logger logr.Logger
}

// Tunnel forwards ports until it is closed or dies. It is safe for concurrent use.
type Tunnel struct {
	ports []portforward.ForwardedPort
	stop  context.CancelFunc
	ended chan struct{}
	// err is why it ended; it is set before ended is closed.
	err error
}

// CheckPorts says of pairs for Options.Ports what is wrong with the first that is none.
func CheckPorts(pairs []string) error {
	const base, bits = 10, 16
	for _, pair := range pairs {
		local, remote, two := strings.Cut(pair, ":")
		if !two {
			local, remote = "", pair
		}
		port, err := strconv.ParseUint(remote, base, bits)
		if err == nil && local != "" {
			_, err = strconv.ParseUint(local, base, bits)
		}
		if err != nil || port == 0 {
			return fmt.Errorf("%q: no [LOCAL:]PORT, with numbers from 1 to 65535", pair)
		}
	}
	return nil
}

// Open returns once the local ports accept connections. The end of ctx ends the attempt, not the tunnel after it: Close does that.
func Open(ctx context.Context, o Options) (*Tunnel, error) {
	life, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), o.Logger))
	ready := make(chan struct{})
	forwarder, err := newForwarder(ctx, life, o, ready)
	if err != nil {
		stop()
		return nil, err
	}
	t := &Tunnel{stop: stop, ended: make(chan struct{})}
	go t.run(forwarder)
	select {
	case <-ready:
		t.ports, err = forwarder.GetPorts()
	case <-t.ended:
		err = t.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("forwarding %v of Pod %s/%s: %w", o.Ports, o.Namespace, o.Pod, err)
	}
	return t, nil
}

func (t *Tunnel) run(forwarder *portforward.PortForwarder) {
	defer close(t.ended)
	defer t.stop()
	err := forwarder.ForwardPorts()
	switch {
	case errors.Is(err, portforward.ErrLostConnectionToPod):
		t.err = ErrDied
	case err != nil:
		t.err = err
	}
}

// Local returns the local port that leads to a port of the Pod, or 0 if none does.
func (t *Tunnel) Local(remote uint16) uint16 {
	for _, port := range t.ports {
		if port.Remote == remote {
			return port.Local
		}
	}
	return 0
}

// Done is closed once the tunnel has ended.
func (t *Tunnel) Done() <-chan struct{} { return t.ended }

// Err says why the tunnel ended: ErrDied, or nil if it was closed or has not ended.
func (t *Tunnel) Err() error {
	select {
	case <-t.ended:
		return t.err
	default:
		return nil
	}
}

// Close ends the tunnel and returns once it has ended.
func (t *Tunnel) Close() {
	t.stop()
	<-t.ended
}

func newForwarder(opening, life context.Context, o Options, ready chan struct{}) (*portforward.PortForwarder, error) {
	target, err := address(o)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to Pod %s/%s: %w", o.Namespace, o.Pod, err)
	}
	dialer := portforward.NewFallbackDialerForStreaming(
		webSocket{opening: opening, config: o.Config, target: target},
		spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) },
	)
	addresses := o.Addresses
	if len(addresses) == 0 {
		addresses = []string{Loopback}
	}
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(life, dialer, addresses, o.Ports, ready, o.Out, o.ErrOut)
	if err != nil {
		return nil, fmt.Errorf("forwarding %v of Pod %s/%s: %w", o.Ports, o.Namespace, o.Pod, err)
	}
	return forwarder, nil
}

// address is the URL that forwards the ports of the Pod.
func address(o Options) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	return base.JoinPath("api", "v1", "namespaces", o.Namespace, "pods", o.Pod, "portforward"), nil
}
