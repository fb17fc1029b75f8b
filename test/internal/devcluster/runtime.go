package devcluster

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
)

// prepareKubelet gives the kubelet what it ends itself without, and the node the images that every cluster with one has.
func prepareKubelet(ctx context.Context, s *starter) error {
	holder, err := s.holder()
	if err != nil {
		return err
	}
	if err := awaitRuntime(ctx, fmt.Sprintf("/proc/%d/root%s", holder, node.RuntimeSocket)); err != nil {
		return err
	}
	return importOwnImages(ctx, s)
}

// awaitRuntime waits until containerd serves a kubelet. It refuses to while it takes stock of the containers that an earlier run of it left,
// and the more those are the longer that is.
func awaitRuntime(ctx context.Context, socket string) error {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connecting to containerd: %w", err)
	}
	defer func() { _ = connection.Close() }()
	client := runtimev1.NewRuntimeServiceClient(connection)
	return poll(ctx, func(ctx context.Context) error {
		if _, err := client.Version(ctx, &runtimev1.VersionRequest{}); err != nil {
			return fmt.Errorf("asking containerd for the version of its runtime service: %w", err)
		}
		return nil
	})
}
