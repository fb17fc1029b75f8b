// Probe is what tests run in containers: it serves, looks around, and fails, as it is told.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
)

// command is something that probe can be told to do.
type command struct {
	name, args, does string
	run              func(ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"pause", "", "do nothing until TERM, as the first process of a Pod", pause},
		{"serve", "ADDRESS", "answer HTTP with the name of this host and what was sent; a WebSocket at /echo, nothing at /hold", serve},
		{"converse", "", "answer each line of standard input, and tell the size of the terminal", converse},
		{"wait", "DURATION", "end after a while; TERM is heeded", wait},
		{"ignore", "DURATION", "end after a while; TERM is ignored", ignore},
		{"exit", "CODE", "end with an exit code", exit},
		{"allocate", "MIB", "use that much memory, and then wait", allocate},
		{"write", "FILE TEXT", "put a text into a file", write},
		{"read", "FILE", "print a file", read},
		{"host", "", "print the name of this host", host},
		{"kernel", "", "print what the kernel says it is", kernel},
		{"lookup", "NAME", "print the addresses of a name", lookup},
		{"connect", "ADDRESS", "open a TCP connection, or fail after two seconds", connect},
		{"get", "URL", "print what a server answers, or fail after five seconds", get},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || strings.TrimLeft(args[0], "-") == "help" {
		return usage()
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		if want := len(strings.Fields(c.args)); len(args)-1 != want {
			return fmt.Errorf("%s wants %d arguments: %s %s", c.name, want, c.name, c.args)
		}
		return c.run(ctx, args[1:])
	}
	return fmt.Errorf("no command %q: see probe help", args[0])
}

func usage() error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		if _, err := fmt.Fprintf(table, "probe %s %s\t%s\n", c.name, c.args, c.does); err != nil {
			return err
		}
	}
	return table.Flush()
}
