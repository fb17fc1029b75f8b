package sandbox

import (
	"context"
	"errors"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
)

// ExecutionResult is how a command ended, and what it printed.
type ExecutionResult struct {
	// Stdout and Stderr are what it printed, 16 MiB together at most.
	Stdout, Stderr string
	// ExitCode is 128 and the signal's number where a signal ended it.
	ExitCode int
}

// Commands runs programs in a sandbox.
type Commands struct{ sandbox *Sandbox }

// Commands returns what runs programs in the sandbox.
func (s *Sandbox) Commands() *Commands { return &Commands{sandbox: s} }

// Run is Commands().Run.
func (s *Sandbox) Run(ctx context.Context, command string, options ...CallOption) (*ExecutionResult, error) {
	return s.Commands().Run(ctx, command, options...)
}

// Run runs a command to its end. The runtime splits it into words as a shell does, without a shell: have one run it for pipes and
// variables, as in `sh -c "ls | wc -l"`. A command that fails is no error, but an exit code. It is attempted once, since it may have run
// though its answer was lost; WithMaxAttempts allows more. The errors are ErrNotReady, ErrTimeout, ErrResponseTooLarge,
// ErrSandboxDeleted, *HTTPError.
func (c *Commands) Run(ctx context.Context, command string, options ...CallOption) (result *ExecutionResult, err error) {
	ctx, span := c.sandbox.start(ctx, "run", executable(command))
	defer func() { finish(span, err) }()
	settings, err := callOf(c.sandbox.client.options.RequestTimeout, runAttempts, options)
	if err != nil {
		return nil, err
	}
	over, err := c.sandbox.connected()
	if err != nil {
		return nil, err
	}
	ctx, stop := settings.limited(ctx)
	defer stop()
	ran, err := over.Run(ctx, command, c.sandbox.attempts(settings))
	if err != nil {
		return nil, c.sandbox.failed(ctx, over, err)
	}
	return &ExecutionResult{Stdout: ran.Stdout, Stderr: ran.Stderr, ExitCode: ran.ExitCode}, nil
}

// Start starts a program and returns once it runs, with its output streaming to the writers of the Command while Wait is under way. It
// has no time limit, unless ctx or WithTimeout gives it one, and ends with it. The runtime has to be sandboxd: ErrUnsupportedByRuntime.
func (c *Commands) Start(ctx context.Context, command Command, options ...CallOption) (_ *Process, err error) {
	if len(command.Args) == 0 {
		return nil, errors.New("args []: name the program to start")
	}
	ctx, span := c.sandbox.start(ctx, "start", program(command.Args[0]))
	defer func() {
		if err != nil {
			finish(span, err)
		}
	}()
	settings, err := callOf(0, runAttempts, options)
	if err != nil {
		return nil, err
	}
	over, err := c.sandbox.connected()
	if err != nil {
		return nil, err
	}
	if over.daemon == nil {
		return nil, ErrUnsupportedByRuntime
	}
	ctx, stop := settings.limited(ctx)
	p := &Process{ctx: ctx, stop: stop, over: over, span: span, stdout: discard(command.Stdout), stderr: discard(command.Stderr)}
	started, err := over.daemon.Start(ctx, guest.Command{
		Args: command.Args, Env: command.Env, Dir: command.Dir, Terminal: (*guest.Terminal)(command.Terminal),
	})
	if err != nil {
		err = c.sandbox.failed(ctx, over, err)
		stop()
		return nil, err
	}
	p.started = started
	return p, nil
}
