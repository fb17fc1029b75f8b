// Command sandboxd is the daemon in a sandbox: it runs programs and moves files for those who reach it.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"sigs.k8s.io/agent-sandbox/core/cmd/sandboxd/program"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	os.Exit(program.Run(program.Process{
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Signals: signals,
		Deaths:  deaths,
		Now:     time.Now,
	}, os.Args[1:]))
}
