package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/clients/go/cmd/kubectl-sandbox/program"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

var (
	root       string
	apiServer  *testkit.APIServer
	user       client.WithWatch
	kubeconfig string // of the user, who may do everything
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "plugin-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		root, err = testkit.FindRoot()
	}
	code := 1
	if err == nil {
		code, err = runOnServer(m, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// runOnServer tests beside an API server on which the release is installed, and both controllers under their roles.
func runOnServer(m *testing.M, dir string) (code int, err error) {
	ctx := context.Background()
	if apiServer, err = testkit.StartAPIServer(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, apiServer.Stop()) }()
	manifest, err := os.ReadFile(filepath.Join(root, "release", "testdata", "sandbox-with-extensions.yaml"))
	if err != nil {
		return 0, err
	}
	if err := install.Apply(ctx, apiServer.Config, manifest); err != nil {
		return 0, err
	}
	if user, err = await.NewClient(apiServer.Config); err != nil {
		return 0, err
	}
	kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	if err := os.WriteFile(kubeconfig, apiServer.Kubeconfig(), 0o600); err != nil {
		return 0, err
	}
	var started []*install.Controller
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, fixture.Patience)
		defer cancel()
		for _, controller := range started {
			err = errors.Join(err, controller.Stop(ctx))
		}
	}()
	for _, name := range []string{install.CoreController, install.ExtensionsController} {
		binary, err := install.BuildProgram(ctx, install.Build{Root: root, Program: name, Out: dir})
		if err != nil {
			return 0, err
		}
		controller, err := install.StartController(ctx, apiServer.Config, install.ControllerOptions{Binary: binary, ServiceAccount: name, Log: io.Discard})
		if err != nil {
			return 0, err
		}
		started = append(started, controller)
	}
	return m.Run(), nil
}

// result is what a command came to.
type result struct {
	code        int
	out, errOut string
}

// plugin runs a command in a namespace.
func plugin(t *testing.T, namespace, stdin string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	all := append([]string{"--kubeconfig", kubeconfig, "-n", namespace}, args...)
	code := program.Main(t.Context(), all, genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
	t.Logf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errOut.String())
	return result{code, out.String(), errOut.String()}
}

// want fails unless the command ended with the code and said all of the texts, wherever.
func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d", r.code, code)
	}
	for _, text := range says {
		if !strings.Contains(r.out+r.errOut, text) {
			t.Errorf("it does not say %q:\n%s%s", text, r.out, r.errOut)
		}
	}
}
