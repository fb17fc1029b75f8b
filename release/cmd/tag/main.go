// Command tag releases a version of the Go modules that others import.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sigs.k8s.io/agent-sandbox/release/internal/modules"
)

const usage = `usage: tag VERSION
Writes VERSION into what the modules of this repository require of each other, commits that, and tags the commit so that
"go get sigs.k8s.io/agent-sandbox/clients/go/sandbox@VERSION" finds it once it is pushed, which is left to you.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "tag:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("tag", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("say which version, for example v0.2.0; -h explains")
	}
	return modules.Open(".", os.Stdout).Release(ctx, flags.Arg(0))
}
