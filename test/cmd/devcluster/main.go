// Command devcluster runs real Kubernetes control planes with simulated nodes
// on this machine, and builds what envtest needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(report(os.Stderr, err))
	}
}

// report tells an error and returns the exit code. A program that was run for the user has told its own, and its code counts.
func report(to io.Writer, err error) int {
	if ran, ok := errors.AsType[*ranError](err); ok && ran.ExitCode() > 0 {
		return ran.ExitCode()
	}
	fmt.Fprintln(to, "devcluster:", err)
	return 1
}
