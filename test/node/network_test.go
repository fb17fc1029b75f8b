//go:build node

package node_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// metadataAddress is where clouds give credentials to whoever asks.
	metadataAddress = "169.254.169.254"
	// publicAddress is one of those kept for documentation (RFC 5737), which the default policy takes for public.
	publicAddress = "203.0.113.1"
	// settled is how long a policy may take to have an effect on a new Pod.
	settled = 20 * time.Second
)

// serveOutside has a server answer under an address outside of the cluster, which only Pods of this test's node can reach.
func serveOutside(t *testing.T, address string) string {
	t.Helper()
	run := func(args ...string) *exec.Cmd { return cluster.Command(t.Context(), args[0], args[1:]...) }
	if output, err := run("ip", "address", "add", address+"/32", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("giving the node %s: %v\n%s", address, err, output)
	}
	t.Cleanup(func() {
		cmd := cluster.Command(context.Background(), "ip", "address", "delete", address+"/32", "dev", "lo")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("taking %s away: %v\n%s", address, err, output)
		}
	})
	at := net.JoinHostPort(address, "8080")
	server := run(filepath.Join(root, "bin", "k8s", "probe"), "serve", at)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() })
	return at
}

func TestWhatAProtectedSandboxReaches(t *testing.T) {
	namespace, tenant := newNamespace(t), newNamespace(t)
	neighbour := box(tenant, "neighbour")
	fixture.Create(t, user, neighbour)
	seen := fixture.Must(t, user, neighbour, await.Ready())
	bystander(t, namespace, "unprotected", nil)
	protected := map[string]string{
		"runc":   podOf(served(t, namespace, "protected")),
		"gVisor": podOf(served(t, namespace, "apart", underGVisor)),
	}
	for name, target := range map[string]struct {
		address string
		allowed bool
	}{
		"the cloud's metadata":     {serveOutside(t, metadataAddress), false},
		"a public address":         {serveOutside(t, publicAddress), true},
		"another tenant's sandbox": {net.JoinHostPort(seen.Status.PodIPs[0], "8080"), false},
		"the API server":           {"10.96.0.1:443", false},
		"a Pod of its namespace":   {net.JoinHostPort(ipOf(t, namespace, "unprotected"), "8080"), false},
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, "an unprotected Pod reaches it", func() error {
				_, err := probe(t, namespace, "unprotected", "connect", target.address)
				return err
			})
			for runtime, pod := range protected {
				isReached(t, runtime, namespace, pod, target.address, target.allowed)
			}
		})
	}
}

// isReached tries until a Pod does, or does not, reach an address.
func isReached(t *testing.T, what, namespace, pod, address string, want bool) {
	t.Helper()
	deadline := time.Now().Add(settled)
	for {
		output, err := probe(t, namespace, pod, "connect", address)
		switch {
		case (err == nil) == want:
			return
		case time.Now().After(deadline):
			t.Errorf("%s: reaches %s: %t, want %t: %s", what, address, err == nil, want, output)
			return
		}
	}
}

func ipOf(t *testing.T, namespace, pod string) string {
	t.Helper()
	return fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, pod)}, await.Exists[*corev1.Pod]()).Status.PodIP
}

func TestWhoReachesAProtectedSandbox(t *testing.T) {
	namespace := newNamespace(t)
	router := map[string]string{"app": "sandbox-router"}
	address := net.JoinHostPort(served(t, namespace, "protected").Status.Sandbox.PodIPs[0], "8080")
	bystander(t, namespace, "labelled", router)
	bystander(t, install.Namespace, "router", router)
	t.Cleanup(func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: install.Namespace, Name: "router"}}
		if err := user.Delete(context.Background(), pod); err != nil {
			t.Error(err)
		}
	})
	isReached(t, "a Pod with the router's labels, in its namespace", install.Namespace, "router", address, true)
	isReached(t, "a Pod with the labels alone", namespace, "labelled", address, false)

	open := net.JoinHostPort(served(t, namespace, "open", unmanaged).Status.Sandbox.PodIPs[0], "8080")
	isReached(t, "a Pod, of a Sandbox without a policy", namespace, "labelled", open, true)
}
