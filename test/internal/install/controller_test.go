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

	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

func startController(ctx context.Context, t *testing.T, o install.ControllerOptions) *install.Controller {
	t.Helper()
	if err := install.Apply(ctx, apiServer.Config, asset(t)); err != nil {
		t.Fatal(err)
	}
	o.Binary = binary
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

func TestControllerServesAndStops(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	log := &bytes.Buffer{}
	controller := startController(t.Context(), t, install.ControllerOptions{Log: log})
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
	if err := install.Apply(ctx, apiServer.Config, asset(t)); err != nil {
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
