package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/process"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// daemon is the program that runs commands in a sandbox.
	daemon = install.Sandboxd
	// command is what the demo runs, and answer what it prints.
	command = `sh -c 'echo "6 times 7 is $((6 * 7))"'`
	answer  = "6 times 7 is 42"
	// daemonGrace is how long the daemon may take to end.
	daemonGrace = 5 * time.Second
	// daemonPause is how long to wait between two looks whether it answers.
	daemonPause = 20 * time.Millisecond
)

// runCommand runs a command in the Sandbox of the claim by the Go SDK.
func (t *claimTeller) runCommand(ctx context.Context) (err error) {
	by, stop, err := t.answering(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	if by == "" {
		t.stage.options.report("no command is run: --image names an image that runs %s", daemon)
		return nil
	}
	sdk, err := sandbox.NewClient(ctx, sandbox.Options{
		RESTConfig: t.stage.config, Namespace: Namespace, Connectivity: sandbox.ConnectivityPodTunnel, Quiet: true,
	})
	if err != nil {
		return err
	}
	box, err := sdk.GetSandbox(ctx, t.claim.Name, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Disconnect(context.WithoutCancel(ctx))) }()
	ran, err := box.Run(ctx, command, sandbox.WithTimeout(t.timeout))
	if err != nil {
		return err
	}
	printed := strings.TrimSpace(ran.Stdout)
	if ran.ExitCode != 0 || printed != answer {
		return fmt.Errorf("%s in Sandbox %s: exit code %d, printed %q, and %q on standard error", command, box.SandboxName(), ran.ExitCode, ran.Stdout, ran.Stderr)
	}
	t.told.add(time.Now(), "ran", fmt.Sprintf("%s in Sandbox %s prints: %s (%s)", command, box.SandboxName(), printed, by), fact{"stdout", printed})
	return nil
}

// answering says by what commands in the claimed Sandbox are run: by the image, or, where the node is simulated and so runs no containers, by
// a process of this machine, which stop ends; by nothing if it is empty.
func (t *claimTeller) answering(ctx context.Context) (by string, stop func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	taken := &sandboxv1beta1.Sandbox{}
	if err := t.client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: t.sandbox}, taken); err != nil {
		return "", nothing, fmt.Errorf("reading Sandbox %s: %w", t.sandbox, err)
	}
	node := &corev1.Node{}
	if err := t.client.Get(ctx, client.ObjectKey{Name: taken.Status.NodeName}, node); err != nil {
		return "", nothing, fmt.Errorf("reading the node of Sandbox %s: %w", t.sandbox, err)
	}
	port, simulated := node.Annotations[devcluster.PodPortAnnotation]
	switch {
	case simulated:
		stop, err := t.stage.startDaemon(ctx, port)
		return "by " + daemon + " on this machine, since simulated nodes run no containers", stop, err
	case t.stage.options.Image != "":
		return "by the " + daemon + " of its image", nothing, nil
	default:
		return "", nothing, nil
	}
}

// startDaemon has the daemon answer on a port of the loopback for the Pods of simulated nodes, in a directory of its own.
func (s *stage) startDaemon(ctx context.Context, port string) (func(context.Context) error, error) {
	dir, err := os.MkdirTemp("", "agent-sandbox-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for %s: %w", daemon, err)
	}
	remove := func(context.Context) error { return os.RemoveAll(dir) }
	started, err := process.Start(process.Program{
		Path: filepath.Join(s.options.Binaries, daemon),
		Args: []string{"--root-dir=" + dir, "--listen-host=" + ports.Loopback, "--legacy-port=" + port, "--rest-port=0", "--grpc-port=0"},
		Env:  []string{"SANDBOX_BASE_DIR=" + dir},
		Log:  filepath.Join(s.options.Root, "bin", "demo-"+daemon+".log"),
	})
	if err != nil {
		return remove, fmt.Errorf("%w (`make build` builds %s)", err, daemon)
	}
	stop := func(ctx context.Context) error { return errors.Join(started.Stop(ctx, daemonGrace), remove(ctx)) }
	return stop, awaitListener(ctx, net.JoinHostPort(ports.Loopback, port), s.options.Timeout)
}

// awaitListener waits until somebody listens at an address.
func awaitListener(ctx context.Context, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(daemonPause)
	defer ticker.Stop()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to listen at %s: %w", daemon, address, err)
		}
	}
}
