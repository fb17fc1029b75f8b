package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

// The names that the rendered assets give.
const (
	// Namespace is where the controllers and their Leases are.
	Namespace = "agent-sandbox-system"
	// CoreController is the Deployment, and the ServiceAccount, of the core controller.
	CoreController = "agent-sandbox-controller"
	// CoreLease is held by the replica of the core controller that works.
	CoreLease = CoreController + leaseSuffix
	// ExtensionsController is the Deployment, and the ServiceAccount, of the controller of warm pools and claims.
	ExtensionsController = "agent-sandbox-extensions-controller"
	// ExtensionsLease is held by the replica of that controller that works.
	ExtensionsLease = ExtensionsController + leaseSuffix

	leaseSuffix = ".agents.x-k8s.io"
)

// LeaseOf is the name of a controller's Lease, by that of its Deployment.
func LeaseOf(controller string) string { return controller + leaseSuffix }

// UserOf is who a controller is to the API server, by the name of its Deployment.
func UserOf(controller string) string { return "system:serviceaccount:" + Namespace + ":" + controller }

const (
	// DefaultReadyTimeout is how long a controller may take until it is ready.
	DefaultReadyTimeout = 60 * time.Second
	// probeTimeout bounds one look at /readyz.
	probeTimeout = 2 * time.Second
)

// ControllerOptions say which controller to run, and as whom.
type ControllerOptions struct {
	// Binary is the program, see BuildProgram.
	Binary string
	// Args come after those that StartController sets, and so win.
	Args []string
	// Namespace is that of ServiceAccount and Lease; empty: Namespace.
	Namespace string
	// ServiceAccount is whose rights the controller has; empty: CoreController.
	ServiceAccount string
	// Log receives what the controller writes; io.Discard for none. One goroutine at a time writes to it.
	Log io.Writer
	// ReadyTimeout is how long it may take until /readyz answers; 0: DefaultReadyTimeout.
	ReadyTimeout time.Duration
}

func (o ControllerOptions) complete() (ControllerOptions, error) {
	if o.Binary == "" {
		return o, errors.New("starting a controller: no binary")
	}
	if o.Log == nil {
		return o, errors.New("starting a controller: no writer for its log: pass io.Discard for none")
	}
	if o.Namespace == "" {
		o.Namespace = Namespace
	}
	if o.ServiceAccount == "" {
		o.ServiceAccount = CoreController
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = DefaultReadyTimeout
	}
	return o, nil
}

// Controller is a controller that runs as a process of this machine.
type Controller struct {
	process       *process
	log           *tail
	health, serve string // addresses of probes and metrics
}

// StartController runs a controller binary as a local process under its rendered role: it knows the cluster only by a
// token of its ServiceAccount. It elects a leader, and serves metrics and probes on free ports of loopback. It returns
// once /readyz answers, or with the last lines of the log. The process is sent SIGTERM, and SIGKILL a little later, when
// ctx ends; it never outlives this process.
func StartController(ctx context.Context, config *rest.Config, o ControllerOptions) (*Controller, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	token, err := requestToken(ctx, config, o.Namespace, o.ServiceAccount)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "agent-sandbox-controller-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for a kubeconfig: %w", err)
	}
	kubeconfig, err := writeKubeconfig(dir, config, o.Namespace, token)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c, err := launch(ctx, o, kubeconfig, func() error { return os.RemoveAll(dir) })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.awaitReady(ctx, o.ReadyTimeout); err != nil {
		return nil, errors.Join(err, c.Kill())
	}
	return c, nil
}

// launch starts the process on free ports. cleanUp runs when it has ended.
func launch(ctx context.Context, o ControllerOptions, kubeconfig string, cleanUp func() error) (*Controller, error) {
	held := ports.NewSet()
	defer held.Close()
	var addresses [2]string
	for i := range addresses {
		port, err := held.HoldFree(fmt.Sprint(i))
		if err != nil {
			return nil, fmt.Errorf("finding a port for a controller: %w", err)
		}
		addresses[i] = fmt.Sprintf("%s:%d", ports.Loopback, port)
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig,
		"--health-probe-bind-address=" + addresses[0],
		"--metrics-bind-address=" + addresses[1],
		"--leader-elect=true",
		"--leader-election-namespace=" + o.Namespace,
	}, o.Args...)
	held.Close()
	log := &tail{to: o.Log}
	p, err := start(ctx, o.Binary, args, log, cleanUp)
	if err != nil {
		return nil, err
	}
	return &Controller{process: p, log: log, health: addresses[0], serve: addresses[1]}, nil
}

func (c *Controller) awaitReady(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready after %s", timeout))
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var unready error
	for {
		if unready = probe(ctx, c.ReadyURL()); unready == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-c.process.ended:
			return fmt.Errorf("the controller ended before it was ready: %w\n%s", c.process.result(), c.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for the controller: %w (%w)\n%s", context.Cause(ctx), unready, c.LogTail())
		}
	}
}

// probe returns nil if the URL answers 200.
func probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	return errors.Join(err, fmt.Errorf("%s answers %s: %s", url, response.Status, strings.TrimSpace(string(body))))
}

// Stop sends SIGTERM and waits for the end; when ctx ends first, SIGKILL. Another exit code than 0 is an error with the
// last lines of the log, also when the process had ended before.
func (c *Controller) Stop(ctx context.Context) error {
	if err := c.process.stop(ctx); err != nil {
		return fmt.Errorf("stopping the controller: %w\n%s", err, c.LogTail())
	}
	return nil
}

// Kill sends SIGKILL and waits for the end.
func (c *Controller) Kill() error { return c.process.kill() }

// Ended is closed once the process has ended.
func (c *Controller) Ended() <-chan struct{} { return c.process.ended }

// PID is the process's.
func (c *Controller) PID() int { return c.process.pid }

// LogTail returns the last lines of the log.
func (c *Controller) LogTail() string { return c.log.String() }

// MetricsURL is where metrics are served.
func (c *Controller) MetricsURL() string { return "http://" + c.serve + "/metrics" }

// HeapURL is where a heap profile is served, after a garbage collection. It takes --enable-pprof-debug.
func (c *Controller) HeapURL() string { return "http://" + c.serve + "/debug/pprof/heap?gc=1" }

// HealthURL is where the liveness probe is served.
func (c *Controller) HealthURL() string { return "http://" + c.health + "/healthz" }

// ReadyURL is where the readiness probe is served.
func (c *Controller) ReadyURL() string { return "http://" + c.health + "/readyz" }
