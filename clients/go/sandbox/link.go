package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/gateway"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/legacy"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/sandboxd"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel"
)

// idleConnections is how many connections to one address wait for the next request.
const idleConnections = 16

// commands is how a runtime runs programs.
type commands interface {
	Run(ctx context.Context, command string, attempts transport.Attempts) (guest.Result, error)
}

// contents is what a runtime does with the content of files.
type contents interface {
	Write(ctx context.Context, path string, content transport.Body, attempts transport.Attempts) error
	Read(ctx context.Context, path string, attempts transport.Attempts) (io.ReadCloser, error)
	Delete(ctx context.Context, path string, attempts transport.Attempts) error
}

// directory is what a runtime tells of directories.
type directory interface {
	List(ctx context.Context, path string, attempts transport.Attempts) ([]guest.Entry, error)
	Exists(ctx context.Context, path string, attempts transport.Attempts) (bool, error)
}

// link is the connection to one sandbox.
type link struct {
	commands
	contents
	directory
	// daemon streams programs; nil where the runtime does not.
	daemon *sandboxd.Runtime
	// tunnel is nil where the way needs none.
	tunnel *tunnel.Tunnel
	// closers are closed in this order.
	closers []func()
}

// died says why a link does not work any more, or nothing.
func (l *link) died() error {
	if l.tunnel == nil {
		return nil
	}
	return l.tunnel.Err()
}

func (l *link) close() {
	for _, close := range l.closers {
		close()
	}
}

// way is where requests for the ports of a sandbox go.
type way struct {
	base   func(port int) *url.URL
	routed bool
	tunnel *tunnel.Tunnel
}

// dial opens a link to a Sandbox.
func (c *Client) dial(ctx context.Context, namespace string, to bound) (*link, error) {
	way, err := c.way(ctx, namespace, to)
	if err != nil {
		return nil, err
	}
	route := &transport.Route{Base: way.base, Clock: c.clock}
	if way.routed {
		route.Router = &transport.Destination{Name: to.name, Namespace: namespace, PodIP: to.podIP, Token: c.options.RouterToken}
		if c.options.DisablePodIPRouting {
			route.Router.PodIP = ""
		}
	}
	carrier, idle := c.carrier(way)
	opened := &link{tunnel: way.tunnel}
	opened.closers = append(opened.closers, idle)
	if way.tunnel != nil {
		opened.closers = append(opened.closers, way.tunnel.Close)
	}
	caller := transport.NewCaller(carrier, route)
	if c.options.Runtime == RuntimeLegacy {
		runtime := legacy.New(caller, c.options.ServerPort)
		opened.commands, opened.contents, opened.directory = runtime, runtime, runtime
		return opened, nil
	}
	conn, err := c.processes(way, carrier)
	if err != nil {
		opened.close()
		return nil, err
	}
	opened.closers = append([]func(){func() { _ = conn.Close() }}, opened.closers...)
	ports := sandboxd.Ports{REST: c.options.SandboxdRESTPort, GRPC: c.options.SandboxdGRPCPort}
	opened.daemon = sandboxd.New(caller, conn, route, ports)
	opened.commands, opened.contents, opened.directory = opened.daemon, opened.daemon, opened.daemon
	return opened, nil
}

func (c *Client) way(ctx context.Context, namespace string, to bound) (way, error) {
	switch o := c.options; o.Connectivity {
	case ConnectivityDirect:
		target, err := url.Parse(o.APIURL)
		return way{base: always(target), routed: true}, err
	case ConnectivityGateway:
		waiting, stop := c.patience(ctx, "the Gateway's address", o.GatewayReadyTimeout)
		defer stop()
		target, err := gateway.Await(waiting, c.config, o.GatewayNamespace, o.GatewayName, o.GatewayScheme)
		return way{base: always(target), routed: true}, err
	case ConnectivityPodTunnel:
		opened, err := c.forward(ctx, namespace, to.podName, c.ports())
		if err != nil {
			return way{}, err
		}
		return way{base: func(port int) *url.URL { return local(opened.Local(uint16(port))) }, tunnel: opened}, nil
	case ConnectivityInCluster:
		if to.podIP == "" {
			return way{}, errors.New("its Pod has no address yet: open it again")
		}
		return way{base: func(port int) *url.URL {
			return &url.URL{Scheme: "http", Host: net.JoinHostPort(to.podIP, strconv.Itoa(port))}
		}}, nil
	default:
		return c.wayToRouter(ctx)
	}
}

// ports are those of the runtime.
func (c *Client) ports() []int {
	if c.options.Runtime == RuntimeSandboxd {
		return []int{c.options.SandboxdRESTPort, c.options.SandboxdGRPCPort}
	}
	return []int{c.options.ServerPort}
}

func always(target *url.URL) func(int) *url.URL { return func(int) *url.URL { return target } }

func local(port uint16) *url.URL {
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(tunnel.Loopback, strconv.Itoa(int(port)))}
}

// carrier returns what carries HTTP requests, and what ends the connections that wait for the next one.
func (c *Client) carrier(to way) (http.RoundTripper, func()) {
	given, plain := c.options.HTTPTransport.(*http.Transport)
	switch {
	case plain:
		own := given.Clone()
		return own, own.CloseIdleConnections
	case c.options.HTTPTransport != nil:
		return c.options.HTTPTransport, func() {}
	}
	own := &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: idleConnections,
	}
	if to.routed && to.tunnel == nil {
		own.Proxy = http.ProxyFromEnvironment
	}
	return own, own.CloseIdleConnections
}

// processes returns the connection for gRPC, which is made when it is used first.
func (c *Client) processes(to way, carrier http.RoundTripper) (*grpc.ClientConn, error) {
	target := to.base(c.options.SandboxdGRPCPort)
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	plain, _ := carrier.(*http.Transport)
	host := target.Host
	if target.Scheme == "https" {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if plain.TLSClientConfig != nil {
			config = plain.TLSClientConfig.Clone()
		}
		config.NextProtos = nil // gRPC sets its own
		options[0] = grpc.WithTransportCredentials(credentials.NewTLS(config))
		host = withPort(target, "443")
	}
	if plain.DialContext != nil {
		dial := plain.DialContext
		options = append(options, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }))
	}
	conn, err := grpc.NewClient("passthrough:///"+host, options...)
	if err != nil {
		return nil, fmt.Errorf("preparing gRPC with %s: %w", host, err)
	}
	return conn, nil
}

func withPort(target *url.URL, port string) string {
	if target.Port() != "" {
		return target.Host
	}
	return net.JoinHostPort(target.Hostname(), port)
}
