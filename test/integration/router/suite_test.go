package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

var (
	binary    string
	apiServer *testkit.APIServer
	user      client.WithWatch
	// controllers is a client that the admission policies take for the controller of pools and claims.
	controllers client.WithWatch
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "router-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	code, err := runOnServer(m, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runOnServer(m *testing.M, dir string) (code int, err error) {
	root, err := testkit.FindRoot()
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	if binary, err = install.BuildProgram(ctx, install.Build{Root: root, Program: install.Router, Out: dir}); err != nil {
		return 0, err
	}
	if apiServer, err = testkit.StartAPIServer(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, apiServer.Stop()) }()
	for _, asset := range []string{"sandbox-with-extensions.yaml", "sandbox-router.yaml"} {
		manifest, err := os.ReadFile(filepath.Join(root, "release", "testdata", asset))
		if err != nil {
			return 0, err
		}
		if err := install.Apply(ctx, apiServer.Config, manifest); err != nil {
			return 0, err
		}
	}
	if user, err = await.NewClient(apiServer.Config); err != nil {
		return 0, err
	}
	extensions := rest.CopyConfig(apiServer.Config)
	extensions.Impersonate = rest.ImpersonationConfig{UserName: install.UserOf(install.ExtensionsController), Groups: []string{"system:masters"}}
	if controllers, err = await.NewClient(extensions); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// start runs the router until the test ends, at the latest.
func start(t *testing.T, args ...string) *install.Controller {
	t.Helper()
	router, err := install.StartController(t.Context(), apiServer.Config, install.ControllerOptions{
		Binary: binary, ServiceAccount: install.Router, Log: io.Discard,
		Args: append([]string{"--allow-loopback-pod-ip", "--shutdown-timeout=2s", "--upstream-retry-initial-delay=10ms", "--upstream-retry-max-delay=20ms"}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = router.Kill() })
	return router
}

// listen serves a sandbox on an address of loopback and returns its port.
func listen(t *testing.T, address string, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func says(text string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(writer, text) }
}

// makeSandbox makes a Sandbox that an object of the extensions of that kind controls; empty: none does.
func makeSandbox(t *testing.T, namespace, name, owner string) *sandboxv1beta1.Sandbox {
	t.Helper()
	sandbox := fixture.Sandbox(namespace, name)
	if owner != "" {
		sandbox.OwnerReferences = []metav1.OwnerReference{ownedBy(owner)}
	}
	fixture.Create(t, controllers, sandbox)
	return sandbox
}

func ownedBy(kind string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: sandboxv1beta1.ExtensionsGroupName + "/v1beta1", Kind: kind, Name: "owner", UID: "uid-of-owner", Controller: &yes}
}

// makePod makes the Pod of a Sandbox as its controller does, ready at that address.
func makePod(t *testing.T, sandbox *sandboxv1beta1.Sandbox, address string, labels map[string]string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: fixture.Named(sandbox.Namespace, sandbox.Name), Spec: sandbox.Spec.PodTemplate.Spec}
	pod.Labels = map[string]string{sandboxv1beta1.LabelSandboxNameHash: names.Hash(sandbox.Name)}
	for key, value := range labels {
		pod.Labels[key] = value
	}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(sandbox, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind))}
	fixture.Create(t, user, pod)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if err := user.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}
