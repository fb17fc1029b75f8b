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
	by, port, err := t.answering(ctx)
	if err != nil {
		return err
	}
	if by == "" {
		t.stage.options.report("no command is run: --image names an image that runs %s", daemon)
		return nil
	}
	if port != "" {
		stop, failed := t.stage.startDaemon(ctx, port)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
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
// a process of this machine on a port of its loopback; by nothing if it is empty.
func (t *claimTeller) answering(ctx context.Context) (by, port string, err error) {
	node := &corev1.Node{}
	if err := t.client.Get(ctx, client.ObjectKey{Name: t.taken.Status.NodeName}, node); err != nil {
		return "", "", fmt.Errorf("reading the node of Sandbox %s: %w", t.taken.Name, err)
	}
	if port, simulated := node.Annotations[devcluster.PodPortAnnotation]; simulated {
		return "by " + daemon + " on this machine, since simulated nodes run no containers", port, nil
	}
	if t.stage.options.Image != "" {
		return "by the " + daemon + " of its image", "", nil
	}
	return "", "", nil
}

// startDaemon has the daemon answer on a port of the loopback for the Pods of simulated nodes, in a directory of its own. The caller stops it.
func (s *stage) startDaemon(ctx context.Context, port string) (stop func(context.Context) error, err error) {
	dir, err := os.MkdirTemp("", "agent-sandbox-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for %s: %w", daemon, err)
	}
	started, err := process.Start(process.Program{
		Path: filepath.Join(s.options.Binaries, daemon),
		Args: []string{"--root-dir=" + dir, "--listen-host=" + ports.Loopback, "--legacy-port=" + port, "--rest-port=0", "--grpc-port=0"},
		Env:  []string{"SANDBOX_BASE_DIR=" + dir},
		Log:  filepath.Join(s.options.Root, "bin", "demo-"+daemon+".log"),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (`make build` builds %s)", err, daemon), os.RemoveAll(dir))
	}
	stop = func(ctx context.Context) error { return errors.Join(started.Stop(ctx, daemonGrace), os.RemoveAll(dir)) }
	if err := awaitListener(ctx, net.JoinHostPort(ports.Loopback, port), s.options.Timeout); err != nil {
		return nil, errors.Join(err, stop(context.WithoutCancel(ctx)))
	}
	return stop, nil
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
