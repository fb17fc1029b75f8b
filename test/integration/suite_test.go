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
	root       string
	binary     string
	apiServer  *testkit.APIServer
	user       client.WithWatch
	kubeconfig string // of the user, who may do everything
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
		binary, err = install.BuildController(context.Background(), install.Build{Root: root, Out: dir, Race: raceDetector})
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

// prepare applies the asset and makes the user's client and kubeconfig.
func prepare(dir string) error {
	manifest, err := os.ReadFile(assetPath())
	if err != nil {
		return err
	}
	objects, err := install.Parse(manifest)
	if err != nil {
		return err
	}
	if err := install.ApplyObjects(context.Background(), apiServer.Config, objects); err != nil {
		return err
	}
	if user, err = await.NewClient(apiServer.Config); err != nil {
		return err
	}
	kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	return os.WriteFile(kubeconfig, apiServer.Kubeconfig(), 0o600)
}

func assetPath() string { return filepath.Join(root, "release", "testdata", "sandbox.yaml") }

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

func (l *logBook) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

// startController runs a controller until the test ends, at the latest.
func startController(t *testing.T, args ...string) (*install.Controller, *logBook) {
	t.Helper()
	book := &logBook{}
	controller, err := install.StartController(context.Background(), apiServer.Config, install.ControllerOptions{
		Binary: binary, Args: args, Log: book,
	})
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
