// Command preflight tells what stands in the way of installing Agent Sandbox on a cluster, and of running it there. It only reads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/agent-sandbox/release/internal/preflight"
)

// The exit codes.
const (
	exitBlocked = 1
	exitUsage   = 2
)

// patience is for one answer of the cluster.
const patience = time.Minute

// usageError is wrong usage, as opposed to a cluster that does not answer.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	blocked, err := tell(ctx, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usageError{}):
		fmt.Fprintf(stderr, "preflight: %v; --help explains\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "preflight:", err)
		return exitBlocked
	case blocked > 0:
		return exitBlocked
	}
	return 0
}

// tell looks at the cluster, writes what there is to say, and returns how much is blocked.
func tell(ctx context.Context, args []string, stdout io.Writer) (int, error) {
	opts, err := parse(args, stdout)
	if err != nil {
		return 0, err
	}
	target, err := preflight.NewTarget(preflight.Scope(opts.scope), opts.namespace)
	if err != nil {
		return 0, usageError{fmt.Errorf("--for: %w", err)}
	}
	config, err := opts.loader().ClientConfig()
	if err != nil {
		return 0, usageError{fmt.Errorf("no cluster to look at: %w", err)}
	}
	// A hundred small questions, and no one to be spared.
	config.QPS = -1
	// What is deprecated is no business of the reader's.
	config.WarningHandler = rest.NoWarnings{}
	config.Timeout = patience
	seen, err := preflight.Observe(ctx, config, target)
	if err != nil {
		return 0, err
	}
	findings := preflight.Check(seen, target)
	write := preflight.WriteText
	if opts.output == formatJSON {
		write = preflight.WriteJSON
	}
	return preflight.Count(findings, preflight.Blocked), write(stdout, findings)
}

// loader finds the cluster as kubectl does.
func (o options) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.AuthInfo.Impersonate = o.user
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}
