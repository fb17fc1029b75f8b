// Command steps runs commands given as name=command one after another and prints a table of where the time went.
// It fails if any of them failed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sigs.k8s.io/agent-sandbox/release/internal/steps"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	parsed, err := steps.Parse(args)
	if err != nil {
		return err
	}
	return steps.New(time.Now, os.Stdout, os.Stderr, os.Getenv(steps.ReportVariable)).Run(ctx, parsed)
}
