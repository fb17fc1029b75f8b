//go:build node

package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// daemonImage is that of the daemon, as the release names it.
const daemonImage = "registry.k8s.io/agent-sandbox/sandboxd:v0.0.0-dev"

// daemonPod runs the daemon as its entrypoint, with a workspace of its own.
func daemonPod(template *extensionsv1beta1.SandboxTemplate) {
	pod := &template.Spec.PodTemplate.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "workspace", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("1Gi"))},
	}})
	container := &pod.Containers[0]
	container.Image, container.Args = daemonImage, nil
	container.SecurityContext.ReadOnlyRootFilesystem = ptr.To(true)
	container.ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v1/health", Port: intstr.FromInt32(8080)}},
	}
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "workspace", MountPath: "/workspace"})
}

// newSDK returns a client that reaches the daemon of a Pod through the API server.
func newSDK(t *testing.T, namespace string) *sandbox.Client {
	t.Helper()
	client, err := sandbox.NewClient(t.Context(), sandbox.Options{
		RESTConfig: forwardedConfig(t), Namespace: namespace, Runtime: sandbox.RuntimeSandboxd, Connectivity: sandbox.ConnectivityPodTunnel, Quiet: true,
	})
	if err != nil {
		t.Fatal(err)
	}
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
	_, port, err := net.SplitHostPort(strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
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
	defer func() { _ = client.DeleteAll(t.Context()) }()
	sent, received := sha256.New(), sha256.New()
	began := time.Now()
	var up time.Duration
	peak := heapWhile(func() {
		if err := sb.Files().WriteFrom(t.Context(), "large", io.TeeReader(noise(size), sent)); err != nil {
			t.Error(err)
			return
		}
		up = time.Since(began)
		content, err := sb.Files().Open(t.Context(), "large")
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = content.Close() }()
		if read, err := io.Copy(received, content); read != size || err != nil {
			t.Errorf("read %d bytes, %v", read, err)
		}
	})
	down := time.Since(began) - up
	t.Logf("%-22s %10s %10s %14s", "200 MiB", "up", "down", "heap grew by")
	t.Logf("%-22s %10s %10s %13dK", "through a port-forward", up.Round(time.Millisecond), down.Round(time.Millisecond), peak>>10)
	if !bytes.Equal(sent.Sum(nil), received.Sum(nil)) {
		t.Errorf("%s was sent and %s came back", hex.EncodeToString(sent.Sum(nil)), hex.EncodeToString(received.Sum(nil)))
	}
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
	do()
	close(done)
	<-measured
	return max(peak, before) - before
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
