//go:build node

package node_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// newSDK returns a client that reaches the daemon of a Pod through the API server, unless modify says otherwise. It leaves no claim.
func newSDK(t *testing.T, namespace string, modify ...func(*sandbox.Options)) *sandbox.Client {
	t.Helper()
	options := sandbox.Options{
		RESTConfig: forwardedConfig(t), Namespace: namespace, Runtime: sandbox.RuntimeSandboxd, Connectivity: sandbox.ConnectivityPodTunnel, Quiet: true,
	}
	for _, m := range modify {
		m(&options)
	}
	client, err := sandbox.NewClient(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.DeleteAll(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return client
}

// forwardedConfig reaches the API server at an address of this machine, from which connections go to the network of the node: what upgrades
// connections in client-go does not use the dialer of a configuration.
func forwardedConfig(t *testing.T) *rest.Config {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	port := apiPort(t)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := config.Dial(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				_ = from.Close()
				continue
			}
			go relay(from, to)
			go relay(to, from)
		}
	}()
	forwarded := rest.CopyConfig(config)
	forwarded.Host, forwarded.Dial = "https://"+listener.Addr().String(), nil
	return forwarded
}

// apiPort is where the API server listens in the network of the node.
func apiPort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// relay copies until either side ends, which ends the other.
func relay(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
}

// TestTheSDKFromClaimToOutput measures how long a program waits for what its first command prints.
func TestTheSDKFromClaimToOutput(t *testing.T) {
	const claims = 5
	namespace := newNamespace(t)
	client := newSDK(t, namespace)
	warm := firstOutputs(t, client, filled(t, namespace, "warm", claims, daemonPod).Name, claims)
	cold := firstOutputs(t, client, filled(t, namespace, "cold", 0, daemonPod).Name, claims)
	t.Logf("%-22s %10s %10s", "claim to first output", "median", "slowest")
	for _, row := range []struct {
		name string
		took []time.Duration
	}{{"warm", warm}, {"cold", cold}} {
		t.Logf("%-22s %10s %10s", row.name, row.took[claims/2].Round(time.Millisecond), row.took[claims-1].Round(time.Millisecond))
	}
	if warm[claims/2] >= cold[claims/2] {
		t.Errorf("a warm claim takes %s, a cold one %s", warm[claims/2], cold[claims/2])
	}
}

// firstOutputs claims so many sandboxes, one after the other, has each print something, and returns how long that took, in order.
func firstOutputs(t *testing.T, client *sandbox.Client, pool string, claims int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range claims {
		began := time.Now()
		sb, err := client.CreateSandbox(t.Context(), pool, "")
		if err != nil {
			t.Fatal(err)
		}
		// The image has no program but the daemon.
		ran, err := sb.Run(t.Context(), "/sandboxd --version")
		took = append(took, time.Since(began))
		if err != nil || ran.ExitCode != 0 || !strings.HasPrefix(ran.Stdout, "sandboxd") {
			t.Errorf("ran %+v, %v", ran, err)
		}
		if err := sb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(took)
	return took
}

// noise is content that does not compress, the same for the same seed.
func noise(size int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{1}), size)
}

func TestTheSDKMovesLargeFilesInConstantMemory(t *testing.T) {
	const size = 200 << 20
	namespace := newNamespace(t)
	client := newSDK(t, namespace)
	sb, err := client.CreateSandbox(t.Context(), filled(t, namespace, "files", 1, daemonPod).Name, "")
	if err != nil {
		t.Fatal(err)
	}
	var up, down time.Duration
	peak := heapWhile(func() { up, down = thereAndBack(t, sb, size) })
	t.Logf("%-22s %10s %10s %14s", "200 MiB", "up", "down", "heap grew by")
	t.Logf("%-22s %10s %10s %13dK", "through a port-forward", up.Round(time.Millisecond), down.Round(time.Millisecond), peak>>10)
	const most = 32 << 20
	if peak > most {
		t.Errorf("the heap grew by %d bytes, want %d at most", peak, most)
	}
}

// heapWhile returns by how many bytes the heap grew at most while something was done.
func heapWhile(do func()) uint64 {
	runtime.GC()
	before, peak := heap(), uint64(0)
	done, measured := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(measured)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, heap())
			case <-done:
				return
			}
		}
	}()
	func() {
		defer close(done)
		do()
	}()
	<-measured
	return max(peak, before) - before
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
