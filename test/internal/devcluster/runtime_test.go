package devcluster

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// takingStock is a runtime that refuses a number of times, as containerd does after it was killed.
type takingStock struct {
	runtimev1.UnimplementedRuntimeServiceServer
	refusals, asked int
}

// Version implements runtimev1.RuntimeServiceServer.
func (r *takingStock) Version(context.Context, *runtimev1.VersionRequest) (*runtimev1.VersionResponse, error) {
	r.asked++
	if r.asked <= r.refusals {
		return nil, status.Error(codes.Unavailable, "server is not initialized yet")
	}
	return &runtimev1.VersionResponse{RuntimeName: "containerd"}, nil
}

func TestAKubeletWaitsForARuntimeThatTakesStock(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "runtime.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	runtime, server := &takingStock{refusals: 3}, grpc.NewServer()
	runtimev1.RegisterRuntimeServiceServer(server, runtime)
	go func() { _ = server.Serve(listener) }()
	err = awaitRuntime(t.Context(), socket)
	server.Stop()
	if err != nil || runtime.asked != 4 {
		t.Errorf("asked %d times: %v", runtime.asked, err)
	}
}
