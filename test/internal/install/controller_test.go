package install_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// The assets, by their files.
const (
	coreAlone  = "sandbox.yaml"
	everything = "sandbox-with-extensions.yaml"
)

// startController runs the core's controller on a cluster with the core alone, unless the options say otherwise.
func startController(ctx context.Context, t *testing.T, o install.ControllerOptions) *install.Controller {
	t.Helper()
	file := coreAlone
	if o.ServiceAccount == install.ExtensionsController {
		o.Binary, file = extensionsBinary, everything
	}
	if err := install.Apply(ctx, apiServer.Config, asset(t, file)); err != nil {
		t.Fatal(err)
	}
	if o.Binary == "" {
		o.Binary = binary
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	controller, err := install.StartController(ctx, apiServer.Config, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := controller.Kill(); err != nil {
			t.Error(err)
		}
	})
	return controller
}

func TestControllersServeAndStop(t *testing.T) {
	for _, account := range []string{install.CoreController, install.ExtensionsController} {
		t.Run(account, func(t *testing.T) { checkServesAndStops(t, account) })
	}
}

func checkServesAndStops(t *testing.T, account string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	log := &bytes.Buffer{}
	controller := startController(t.Context(), t, install.ControllerOptions{ServiceAccount: account, Log: log})
	for _, url := range []string{controller.HealthURL(), controller.ReadyURL(), controller.MetricsURL()} {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", url, response.Status)
		}
	}
	found, err := filepath.Glob(os.Getenv("TMPDIR") + "/agent-sandbox-controller-*/kubeconfig")
	if err != nil || len(found) != 1 {
		t.Fatalf("kubeconfigs %v, %v: want one", found, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v: want mode 0600", info.Mode(), err)
	}
	if err := controller.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(found[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig is still there after the end: %v", err)
	}
	if tail := controller.LogTail(); tail == "" || !strings.Contains(log.String(), tail) {
		t.Errorf("the tail is not the end of the log:\n%s", tail)
	}
	if err := controller.Stop(t.Context()); err != nil {
		t.Errorf("stopping once more: %v", err)
	}
}

// Each works under its own role and holds its own Lease: neither waits for the other, and one may go alone.
func TestTheExtensionsRunBesideTheCore(t *testing.T) {
	core := startController(t.Context(), t, install.ControllerOptions{})
	extensions := startController(t.Context(), t, install.ControllerOptions{ServiceAccount: install.ExtensionsController})
	if core.MetricsURL() == extensions.MetricsURL() || core.HealthURL() == extensions.HealthURL() {
		t.Errorf("both serve on %s or %s", core.MetricsURL(), core.HealthURL())
	}
	first, second := holder(t, install.CoreLease), holder(t, install.ExtensionsLease)
	if first == second {
		t.Errorf("both Leases are held by %s", first)
	}
	if err := core.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(extensions.ReadyURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Errorf("without the core, the extensions' controller answers %s", response.Status)
	}
	if still := holder(t, install.ExtensionsLease); still != second {
		t.Errorf("the extensions' Lease went from %s to %s as the core stopped", second, still)
	}
}

// holder waits until a Lease has a holder, and returns it.
func holder(t *testing.T, lease string) string {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(apiServer.Config)
	if err != nil {
		t.Fatal(err)
	}
	var identity string
	testkit.Eventually(t, "a holder of "+lease, func() error {
		seen, err := clientset.CoordinationV1().Leases(install.Namespace).Get(t.Context(), lease, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if identity = ptr.Deref(seen.Spec.HolderIdentity, ""); identity == "" {
			return errors.New("nobody holds it")
		}
		return nil
	})
	return identity
}

func TestControllerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	controller := startController(ctx, t, install.ControllerOptions{})
	cancel()
	select {
	case <-controller.Ended():
	case <-time.After(30 * time.Second):
		t.Fatal("the controller outlives its context")
	}
	if err := syscall.Kill(controller.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v: want it gone", controller.PID(), err)
	}
}

func TestControllerThatWasKilledIsAnErrorToStop(t *testing.T) {
	controller := startController(t.Context(), t, install.ControllerOptions{})
	if err := controller.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := controller.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want an error that says it was killed", err)
	}
}

func TestControllerThatCannotStartSaysWhy(t *testing.T) {
	ctx := t.Context()
	if err := install.Apply(ctx, apiServer.Config, asset(t, everything)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		options install.ControllerOptions
		want    string
	}{
		"a process that ends shows its last lines": {
			install.ControllerOptions{Binary: binary, Args: []string{"--kube-api-burst=0"}, Log: io.Discard}, "--kube-api-burst=0: must be above 0",
		},
		"a binary that is missing is named": {install.ControllerOptions{Binary: "/nowhere/controller", Log: io.Discard}, "/nowhere/controller"},
		"no binary":                         {install.ControllerOptions{Log: io.Discard}, "no binary"},
		"no log":                            {install.ControllerOptions{Binary: binary}, "no writer for its log"},
		"a ServiceAccount that is missing is named": {install.ControllerOptions{Binary: binary, Log: io.Discard, ServiceAccount: "nobody"}, "agent-sandbox-system/nobody"},
		"the extensions' controller, too, shows its last lines": {
			install.ControllerOptions{Binary: extensionsBinary, ServiceAccount: install.ExtensionsController, Args: []string{"--sandbox-claim-concurrent-workers=0"}, Log: io.Discard},
			"--sandbox-claim-concurrent-workers=0: must be above 0",
		},
		"a process that never gets ready is ended": {
			install.ControllerOptions{Binary: binary, Log: io.Discard, ReadyTimeout: time.Millisecond}, "not ready after 1ms",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := install.StartController(ctx, apiServer.Config, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to contain %q", err, c.want)
			}
		})
	}
}
