package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/workload"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// Name is that of the binary.
const Name = "sandboxd"

// versionFlag prints the version.
const versionFlag = "version"

// Exit codes; as an entrypoint, the daemon ends with that of the workload.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `sandboxd runs programs and moves files in a sandbox, for those who reach it.

Usage:
  sandboxd [flags]                       beside the workload
  sandboxd [flags] -- command [args]     as the entrypoint: runs the workload, and ends with it
  sandboxd --copy-to=PATH                in an init container: copies itself to where another container has it

Flags:
`

// Process is what the daemon gets of the process that it is.
type Process struct {
	// Environ has the form of os.Environ.
	Environ               []string
	Stdin, Stdout, Stderr *os.File
	// Signals end the daemon, or go to the workload if there is one.
	Signals <-chan os.Signal
	// Deaths gets SIGCHLD.
	Deaths <-chan os.Signal
	Now    func() time.Time
}

// Run parses args and works until a signal, or the workload's end. Complaints go to stderr, one line each; the result is the exit code. All
// children of the process are the daemon's.
func Run(self Process, args []string) int {
	options := NewOptions()
	flags := options.Flags()
	flags.Usage = func() {}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			fmt.Fprint(self.Stdout, usage, flags.FlagUsages())
			return exitOK
		}
		fmt.Fprintf(self.Stderr, "%s: %v; see --help\n", Name, err)
		return exitUsage
	}
	if asked, _ := flags.GetBool(versionFlag); asked {
		fmt.Fprintln(self.Stdout, Name, version.Get())
		return exitOK
	}
	command := flags.Args()
	if len(command) > 0 && flags.ArgsLenAtDash() != 0 {
		fmt.Fprintf(self.Stderr, "%s: unexpected argument %q: a workload stands behind --; see --help\n", Name, command[0])
		return exitUsage
	}
	code, err := run(self, options, command)
	if err != nil {
		fmt.Fprintf(self.Stderr, "%s: %v\n", Name, err)
		return exitFailed
	}
	return code
}

func run(self Process, options Options, command []string) (int, error) {
	if options.CopyTo != "" {
		return exitOK, copyTo(options.CopyTo)
	}
	log := newLog(self.Stderr)
	daemon, err := New(options, self.Environ, self.Now, log)
	if err != nil {
		return 0, err
	}
	if err := takeOver(); err != nil {
		return 0, err
	}
	listeners, err := listen(options)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go daemon.family.BuryOrphans(ctx, self.Deaths, log)
	log.Info("Starting", "version", version.Get().GitVersion, "rootDir", daemon.workspace.Path(), "baseDir", daemon.base.Path())
	served := make(chan error, 1)
	failed := make(chan struct{})
	go func() {
		served <- daemon.Serve(ctx, listeners)
		close(failed)
	}()
	code, err := daemon.follow(self, command, failed)
	cancel()
	return code, errors.Join(err, <-served)
}

// takeOver readies the process to be the parent of programs.
func takeOver() error {
	// The secrets in the environment of the daemon are not for programs, which run as the same user and could read it in /proc.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing /proc of the daemon to its programs: %w", err)
	}
	return process.Adopt()
}

// follow returns when the workload has ended or, without one, when a signal ends the daemon; in any case when the daemon has failed.
func (d *Daemon) follow(self Process, command []string, failed <-chan struct{}) (int, error) {
	if len(command) > 0 {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = self.Environ, self.Stdin, self.Stdout, self.Stderr
		code, err := workload.Run(cmd, d.family, self.Signals, failed)
		return int(code), err
	}
	for {
		select {
		case signal := <-self.Signals:
			if signal == syscall.SIGTERM || signal == syscall.SIGINT {
				return exitOK, nil
			}
		case <-failed:
			return exitFailed, nil
		}
	}
}

func listen(options Options) (Listeners, error) {
	var all Listeners
	for _, api := range []struct {
		flag string
		port int
		to   *net.Listener
	}{{"grpc-port", options.GRPCPort, &all.GRPC}, {"rest-port", options.RESTPort, &all.REST}, {"legacy-port", options.LegacyPort, &all.Legacy}} {
		if api.port == 0 {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(options.ListenHost, strconv.Itoa(api.port)))
		if err != nil {
			return Listeners{}, fmt.Errorf("--%s=%d: %w; choose a port that is free, or 0 for none", api.flag, api.port, err)
		}
		*api.to = listener
	}
	return all, nil
}

// newLog writes lines of JSON, as the controllers do.
func newLog(to *os.File) logr.Logger {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339TimeEncoder
	return zapr.NewLogger(zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(config), zapcore.Lock(to), zapcore.InfoLevel)))
}
