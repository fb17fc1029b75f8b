// Command images makes the container images of every program and pushes them to a registry, without a container
// engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: images build [flags] | push --to REGISTRY[/path] [flags]
  build  compile every program and write its image and digest
  push   send what build wrote to a registry
images build -h and images push -h list the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: build or push; -h explains")
	}
	switch command, rest := args[0], args[1:]; command {
	case "build":
		return build(ctx, rest)
	case "push":
		return push(ctx, rest)
	case "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("there is no command %q: choose build or push", command)
	}
}
