package tunnel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel/tunneltest"
)

// greet answers a connection with the port that it was for.
func greet(port string, stream io.ReadWriteCloser) {
	_, _ = fmt.Fprintf(stream, "port %s", port)
	_ = stream.Close()
}

func options(server *tunneltest.Server) tunnel.Options {
	return tunnel.Options{Config: &rest.Config{Host: server.URL}, Namespace: "team", Pod: "box", Ports: []string{"0:8080", ":9090"}}
}

func read(t *testing.T, port uint16) string {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("%s:%d", tunnel.Loopback, port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestATunnelForwardsPorts(t *testing.T) {
	for name, server := range map[string]*tunneltest.Server{
		"over a WebSocket": {Serve: greet},
		"over SPDY, where the API server knows no WebSocket": {Serve: greet, NoWebSocket: true},
	} {
		t.Run(name, func(t *testing.T) {
			server.Start(t)
			opened, err := tunnel.Open(t.Context(), options(server))
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			for _, remote := range []uint16{8080, 9090} {
				if got, want := read(t, opened.Local(remote)), fmt.Sprintf("port %d", remote); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			if got := opened.Local(1); got != 0 {
				t.Errorf("port 1 is forwarded from %d", got)
			}
			if got, want := server.Path(), "/api/v1/namespaces/team/pods/box/portforward"; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		})
	}
}

func TestAClosedTunnelHasNoError(t *testing.T) {
	server := &tunneltest.Server{Serve: greet}
	server.Start(t)
	opened, err := tunnel.Open(t.Context(), options(server))
	if err != nil {
		t.Fatal(err)
	}
	port := opened.Local(8080)
	opened.Close()
	if err := opened.Err(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", fmt.Sprintf("%s:%d", tunnel.Loopback, port)); err == nil {
		_ = conn.Close()
		t.Error("the port is still open")
	}
}

func TestATunnelTellsThatItDied(t *testing.T) {
	server := &tunneltest.Server{Serve: greet}
	server.Start(t)
	opened, err := tunnel.Open(t.Context(), options(server))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	server.Cut()
	<-opened.Done()
	if err := opened.Err(); !errors.Is(err, tunnel.ErrDied) {
		t.Errorf("got %v, want %v", err, tunnel.ErrDied)
	}
}

func TestATunnelThatIsRefusedSaysWhy(t *testing.T) {
	server := &tunneltest.Server{Refuse: http.StatusForbidden}
	server.Start(t)
	_, err := tunnel.Open(t.Context(), options(server))
	if err == nil || !strings.Contains(err.Error(), "team/box") || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("got %v, want the Pod and the refusal", err)
	}
}

// A server that accepts and never answers: nothing of the attempt may stay behind, which goleak looks for.
func TestAnAttemptEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := &tunneltest.Server{Hang: cancel}
	server.Start(t)
	_, err := tunnel.Open(ctx, options(server))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestPortsThatAreNoneAreRefused(t *testing.T) {
	_, err := tunnel.Open(t.Context(), tunnel.Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Namespace: "team", Pod: "box", Ports: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), "team/box") {
		t.Errorf("got %v, want an error that names the Pod", err)
	}
}
