package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

var (
	root             string
	binary           string // of the core's controller
	extensionsBinary string
	apiServer        *testkit.APIServer
	user             client.WithWatch
	kubeconfig       string // of the user, who may do everything
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "integration-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		root, err = testkit.FindRoot()
	}
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code, err := runOnServer(m, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func build(dir string) (err error) {
	core := install.Build{Root: root, Program: install.CoreController, Out: dir, Race: raceDetector}
	if binary, err = install.BuildProgram(context.Background(), core); err != nil {
		return err
	}
	extensions := core
	extensions.Program = install.ExtensionsController
	extensionsBinary, err = install.BuildProgram(context.Background(), extensions)
	return err
}

func runOnServer(m *testing.M, dir string) (code int, err error) {
	if apiServer, err = testkit.StartAPIServer(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, apiServer.Stop()) }()
	if err := prepare(dir); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// The assets, by their files.
const (
	coreAsset       = "sandbox.yaml"
	extensionsAsset = "extensions.yaml"
	unionAsset      = "sandbox-with-extensions.yaml"
)

// prepare applies the core, then the extensions, and makes the user's client and kubeconfig.
func prepare(dir string) (err error) {
	for _, asset := range []string{coreAsset, extensionsAsset} {
		if err := applyAsset(asset); err != nil {
			return err
		}
	}
	if user, err = await.NewClient(apiServer.Config); err != nil {
		return err
	}
	if err := awaitPolicies(context.Background()); err != nil {
		return err
	}
	kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	return os.WriteFile(kubeconfig, apiServer.Kubeconfig(), 0o600)
}

func applyAsset(name string) error {
	manifest, err := os.ReadFile(assetPath(name))
	if err != nil {
		return err
	}
	return install.Apply(context.Background(), apiServer.Config, manifest)
}

func assetPath(name string) string { return filepath.Join(root, "release", "testdata", name) }

// logBook collects a controller's log. It is safe for concurrent use.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log so far.
func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBook) lines() []string { return strings.Split(strings.TrimSpace(l.String()), "\n") }

// startController runs the core's controller until the test ends, at the latest.
func startController(t *testing.T, args ...string) (*install.Controller, *logBook) {
	t.Helper()
	return start(t, install.ControllerOptions{Binary: binary, ServiceAccount: install.CoreController, Args: args})
}

// startExtensions is startController for the controller of warm pools and claims.
func startExtensions(t *testing.T, args ...string) (*install.Controller, *logBook) {
	t.Helper()
	return start(t, install.ControllerOptions{Binary: extensionsBinary, ServiceAccount: install.ExtensionsController, Args: args})
}

func start(t *testing.T, options install.ControllerOptions) (*install.Controller, *logBook) {
	t.Helper()
	book := &logBook{}
	options.Log = book
	controller, err := install.StartController(context.Background(), apiServer.Config, options)
	if err != nil {
		t.Fatal(err)
	}
	// In order, so that it gives its Lease up and the next test need not wait.
	t.Cleanup(func() { stopController(t, controller) })
	return controller, book
}

// stopController asks a controller to stop, which must end with exit code 0.
func stopController(t *testing.T, controller *install.Controller) {
	t.Helper()
	// t.Context has ended when cleanups run.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), fixture.Patience)
	defer cancel()
	if err := controller.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// kubectl runs the assets' kubectl as the user.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	assets := os.Getenv(testkit.AssetsVariable)
	if assets == "" {
		assets = filepath.Join(root, "bin", "k8s")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
