package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sigs.k8s.io/agent-sandbox/core/internal/router/serve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// startHealth serves the health service of gRPC in a sandbox, and returns its port.
func startHealth(t *testing.T) (*health.Server, string) {
	t.Helper()
	listener, server, service := listen(t), grpc.NewServer(), health.NewServer()
	healthv1.RegisterHealthServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return service, port
}

// A stream of gRPC and the status in its trailers pass where the client comes by TLS, and the sandbox knows nothing of that.
func TestGRPCPassesByTLS(t *testing.T) {
	dir := t.TempDir()
	files := serve.CertificateFiles{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	certificate, key := issue(t, "router")
	write(t, files.Certificate, certificate)
	write(t, files.Key, key)
	certificates, err := serve.NewCertificates(files, prometheus.NewRegistry(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	secure := listen(t)
	start(t, func(o *serve.Options) { o.Secure, o.TLS = secure, certificates.Config() })
	service, port := startHealth(t)

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certificate)
	connection, err := grpc.NewClient(secure.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: trusted, ServerName: "router"})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), target.HeaderID, "box", target.HeaderPort, port, target.HeaderPodIP, "127.0.0.1"))
	defer cancel()
	client := healthv1.NewHealthClient(connection)
	seen, err := client.Watch(ctx, &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []healthv1.HealthCheckResponse_ServingStatus{healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING} {
		service.SetServingStatus("", wanted)
		if got, err := seen.Recv(); err != nil || got.GetStatus() != wanted {
			t.Fatalf("%v, the stream says %s, want %s", err, got.GetStatus(), wanted)
		}
	}
	if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: "unknown"}); status.Code(err) != codes.NotFound {
		t.Errorf("an error of the sandbox's arrives as %v", err)
	}
}
