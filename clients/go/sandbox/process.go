package sandbox

import (
	"context"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/sandboxd"
)

// Signal is one that a Process can be sent.
type Signal int

const (
	// SignalInterrupt is that of ctrl-C.
	SignalInterrupt Signal = 2
	// SignalKill ends a program at once.
	SignalKill Signal = 9
	// SignalTerminate asks a program to end.
	SignalTerminate Signal = 15
)

// Terminal is the size of one.
type Terminal struct {
	// Cols and Rows are its width and height in characters.
	Cols, Rows uint32
}

// Command is a program to start.
type Command struct {
	// Args are the program and its arguments; no shell is between.
	Args []string
	// Env is added to the environment of the sandbox.
	Env map[string]string
	// Dir is the working directory; empty means that of the runtime.
	Dir string
	// Stdout and Stderr get the output as it comes; nil discards it. A writer that blocks holds the program up.
	Stdout, Stderr io.Writer
	// Terminal gives the program a terminal, all whose output is standard output; nil means none.
	Terminal *Terminal
}

// Process is a program that runs in a sandbox. Its methods may be called while Wait is under way.
type Process struct {
	ctx            context.Context
	stop           context.CancelFunc
	over           *link
	span           trace.Span
	started        *sandboxd.Process
	stdout, stderr io.Writer
	// input is held for reading by what gives the program input, so that Wait can wait for that.
	input sync.RWMutex
}

// lateAnswers is how long Wait waits for the answers to input that was on its way when the program ended: it may have ended by that.
const lateAnswers = 5 * time.Second

// Wait hands the output on until the program ends, and returns its exit code: 128 and the signal's number where a signal ended it. Call
// it once. If the context of Start ends, or the connection breaks, that is the error, and the program is ended.
func (p *Process) Wait() (code int, err error) {
	defer p.stop()
	defer func() { finish(p.span, err) }()
	code, err = p.started.Follow(p.stdout, p.stderr)
	defer time.AfterFunc(lateAnswers, p.stop).Stop()
	p.input.Lock()
	defer p.input.Unlock()
	return code, failed(p.ctx, p.over, err)
}

// Kill ends the program and gives up what it had; it is for a Process that is not waited for. After Wait it does nothing.
func (p *Process) Kill() { p.stop() }

// Write gives the program standard input, and returns once it was taken.
func (p *Process) Write(input []byte) (int, error) {
	p.input.RLock()
	defer p.input.RUnlock()
	written, err := p.started.Write(p.ctx, input)
	return written, failed(p.ctx, p.over, err)
}

// CloseInput ends the program's standard input.
func (p *Process) CloseInput() error {
	p.input.RLock()
	defer p.input.RUnlock()
	return failed(p.ctx, p.over, p.started.CloseInput(p.ctx))
}

// Signal sends a signal to the program and all that it started.
func (p *Process) Signal(ctx context.Context, signal Signal) error {
	return failed(ctx, p.over, p.started.Signal(ctx, int(signal)))
}

// Resize sets the size of the program's terminal.
func (p *Process) Resize(ctx context.Context, to Terminal) error {
	return failed(ctx, p.over, p.started.Resize(ctx, guest.Terminal(to)))
}

func discard(writer io.Writer) io.Writer {
	if writer == nil {
		return io.Discard
	}
	return writer
}
