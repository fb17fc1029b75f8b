package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// The ports of the daemon in a sandbox.
const (
	daemonREST   = "8080"
	daemonGRPC   = "9090"
	daemonLegacy = "8888"
)

// daemon is the daemon that stands in for those of all sandboxes, whose Pods run no containers here.
type daemon struct {
	// local leads from a port of a Pod to the address where the daemon serves it.
	local map[string]string
}

// startDaemon runs the daemon until the test ends.
func startDaemon(t *testing.T) *daemon {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "sandboxd")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "./core/cmd/sandboxd")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the daemon: %v\n%s", err, output)
	}
	free := ports.NewSet()
	d := &daemon{local: map[string]string{}}
	args := []string{"--listen-host", ports.Loopback, "--root-dir", t.TempDir()}
	for port, flag := range map[string]string{daemonREST: "--rest-port", daemonGRPC: "--grpc-port", daemonLegacy: "--legacy-port"} {
		number, err := free.HoldFree(port)
		if err != nil {
			t.Fatal(err)
		}
		d.local[port] = net.JoinHostPort(ports.Loopback, strconv.Itoa(number))
		args = append(args, flag, strconv.Itoa(number))
	}
	process := exec.Command(binary, args...)
	log := &logBook{}
	process.Stdout, process.Stderr = log, log
	free.Close()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(process.Process.Signal(os.Interrupt), process.Wait()); err != nil {
			t.Errorf("the daemon: %v\n%s", err, log)
		}
	})
	testkit.Eventually(t, "the daemon serves", func() error {
		answer, err := http.Get("http://" + d.local[daemonREST] + "/v1/health")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	return d
}

// transport reaches the daemon at the addresses of all Pods.
func (d *daemon) transport() *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil || !strings.HasPrefix(host, "10.0.") || d.local[port] == "" {
			return nil, fmt.Errorf("there is no Pod at %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, d.local[port])
	}}
}

// newSDK is the client of a program in the cluster, where Pods are reached by their addresses.
func newSDK(t *testing.T, d *daemon, namespace string, modify ...func(*sandbox.Options)) *sandbox.Client {
	t.Helper()
	o := sandbox.Options{
		RESTConfig: apiServer.Config, Namespace: namespace, WarmPoolName: "pool", Connectivity: sandbox.ConnectivityInCluster,
		Runtime: sandbox.RuntimeSandboxd, HTTPTransport: d.transport(), SandboxReadyTimeout: fixture.Patience, Quiet: true,
	}
	for _, m := range modify {
		m(&o)
	}
	client, err := sandbox.NewClient(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// sdkPool starts what claims need, and returns a namespace with a pool of two.
func sdkPool(t *testing.T) string {
	t.Helper()
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	namespace := testkit.Namespace(t, user)
	template := fixture.Template(namespace, "template")
	fixture.Create(t, user, template)
	warm := fixture.Pool(template, "pool", 2)
	fixture.Create(t, user, warm)
	fixture.Must(t, user, warm, await.Members(2))
	return namespace
}

func TestTheSDKUsesASandbox(t *testing.T) {
	namespace, d := sdkPool(t), startDaemon(t)
	client := newSDK(t, d, namespace)
	sb, err := client.CreateSandbox(t.Context(), "", "", sandbox.WithClaimName("mine"), sandbox.WithLifetime(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(sb.SandboxName(), "pool-") || sb.PodName() != sb.SandboxName() {
		t.Errorf("Sandbox %s, Pod %s: it is not from the pool", sb.SandboxName(), sb.PodName())
	}
	useDaemon(t, sb)
	if err := sb.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Run(t.Context(), "true"); !errors.Is(err, sandbox.ErrNotReady) {
		t.Errorf("got %v, want %v", err, sandbox.ErrNotReady)
	}
	other := newSDK(t, d, namespace)
	again, err := other.GetSandbox(t.Context(), "mine", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran, err := again.Run(t.Context(), "cat deep/down/file"); err != nil || ran.Stdout != "content" {
		t.Errorf("after the resume: %+v, %v", ran, err)
	}
	if err := again.Renew(t.Context(), 2*time.Hour); err != nil {
		t.Error(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, "mine")}
	fixture.MustBeGone(t, user, claim)
	if err := sb.Open(t.Context()); !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrSandboxDeleted)
	}
}

// useDaemon runs commands and moves files.
func useDaemon(t *testing.T, sb *sandbox.Sandbox) {
	t.Helper()
	ran, err := sb.Run(t.Context(), `sh -c "echo out; echo err >&2; exit 3"`)
	if diff := cmp.Diff(&sandbox.ExecutionResult{Stdout: "out\n", Stderr: "err\n", ExitCode: 3}, ran); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := sb.Write(t.Context(), "deep/down/file", []byte("content")); err != nil {
		t.Error(err)
	}
	if content, err := sb.Read(t.Context(), "deep/down/file"); err != nil || string(content) != "content" {
		t.Errorf("read %q, %v", content, err)
	}
	for path, want := range map[string]string{".": "deep", "/deep/down": "file"} {
		if listed, err := sb.List(t.Context(), path); err != nil || len(listed) != 1 || listed[0].Name != want {
			t.Errorf("listed %+v in %q, %v", listed, path, err)
		}
	}
	var answered *sandbox.HTTPError
	for _, path := range []string{"..", "../etc/passwd"} {
		if _, err := sb.Read(t.Context(), path); !errors.As(err, &answered) {
			t.Errorf("reading %q: got %v, want a refusal by the daemon", path, err)
		}
	}
	var out bytes.Buffer
	process, err := sb.Commands().Start(t.Context(), sandbox.Command{Args: []string{"cat"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(process, "streamed"); err != nil {
		t.Error(err)
	}
	if err := process.CloseInput(); err != nil {
		t.Error(err)
	}
	if code, err := process.Wait(); code != 0 || err != nil || out.String() != "streamed" {
		t.Errorf("exit code %d, %v, output %q", code, err, out.String())
	}
	if err := sb.Write(t.Context(), "gone", nil); err != nil {
		t.Error(err)
	}
	if err := sb.Delete(t.Context(), "gone"); err != nil {
		t.Error(err)
	}
	if exists, err := sb.Exists(t.Context(), "gone"); exists || err != nil {
		t.Errorf("gone exists: %v, %v", exists, err)
	}
}

func TestTheSDKSpeaksTheOlderRuntimeAPI(t *testing.T) {
	namespace, d := sdkPool(t), startDaemon(t)
	client := newSDK(t, d, namespace, func(o *sandbox.Options) { o.Runtime = sandbox.RuntimeLegacy })
	sb, err := client.CreateSandbox(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.Files().WriteFrom(t.Context(), "file", strings.NewReader("content")); err != nil {
		t.Error(err)
	}
	if ran, err := sb.Run(t.Context(), "cat file"); err != nil || ran.Stdout != "content" || ran.ExitCode != 0 {
		t.Errorf("ran %+v, %v", ran, err)
	}
	if ran, err := sb.Run(t.Context(), "no-such-program"); err != nil || ran.ExitCode != 1 {
		t.Errorf("ran %+v, %v", ran, err)
	}
	if exists, err := sb.Exists(t.Context(), "file"); !exists || err != nil {
		t.Errorf("the file exists: %v, %v", exists, err)
	}
	if listed, err := sb.List(t.Context(), "."); err != nil || len(listed) != 1 || listed[0].Size != 7 {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if err := client.DeleteAll(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheSDKMakesOneClaimForOneRequest(t *testing.T) {
	namespace, d := sdkPool(t), startDaemon(t)
	first, err := newSDK(t, d, namespace).CreateSandbox(t.Context(), "", "", sandbox.WithClaimName("mine"), sandbox.WithLifetime(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Renew(t.Context(), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	other := newSDK(t, d, namespace)
	second, err := other.CreateSandbox(t.Context(), "", "", sandbox.WithClaimName("mine"), sandbox.WithLifetime(time.Hour))
	if err != nil || second.SandboxName() != first.SandboxName() {
		t.Fatalf("the same request: %v", err)
	}
	if _, err := other.CreateSandbox(t.Context(), "another", "", sandbox.WithClaimName("mine")); !errors.Is(err, sandbox.ErrClaimConflict) {
		t.Errorf("another request: got %v, want %v", err, sandbox.ErrClaimConflict)
	}
}

func TestTheSDKLeavesNoClaimOfACancelledCall(t *testing.T) {
	namespace, d := sdkPool(t), startDaemon(t)
	client := newSDK(t, d, namespace)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := client.CreateSandbox(ctx, "no-such-pool", "", sandbox.WithClaimName("mine"))
		failed <- err
	}()
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, "mine")}
	fixture.Must(t, user, claim, await.ClaimCondition(sandboxv1beta1.ConditionReady, "False", extensionsv1beta1.ReasonWarmPoolNotFound))
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	fixture.MustBeGone(t, user, claim)
}

func TestTheSDKSaysWhyAClaimIsRefused(t *testing.T) {
	namespace, d := sdkPool(t), startDaemon(t)
	_, err := newSDK(t, d, namespace).CreateSandbox(t.Context(), "", "", sandbox.WithClaim(func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "A", Value: "1"}}
	}))
	if !errors.Is(err, sandbox.ErrClaimFailed) || !strings.Contains(err.Error(), extensionsv1beta1.ReasonEnvVarsInjectionRejected) {
		t.Errorf("got %v, want %v with the reason", err, sandbox.ErrClaimFailed)
	}
	left, err := newSDK(t, d, namespace).ListAllSandboxes(t.Context(), "")
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
