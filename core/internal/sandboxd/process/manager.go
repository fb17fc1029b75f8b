package process

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

// Spec says what to run.
type Spec struct {
	// Command is the program and its arguments; no shell reads them.
	Command []string
	// Env wins over what every program gets.
	Env map[string]string
	// Dir is the absolute path of the directory to run in.
	Dir string
	// Limit is how long the program may run; 0 is for ever.
	Limit time.Duration
	// Input says that WriteInput is to be possible; without it, the program reads nothing.
	Input bool
	// Terminal is the size of a terminal that is the program's input and output; nil is for none.
	Terminal *Size
}

// Size is that of a terminal, in characters from 1 to 65535.
type Size struct{ Cols, Rows uint32 }

// Stream is one of the two that a program writes.
type Stream int

// The two streams. All that is written to a terminal is Stdout.
const (
	Stdout Stream = iota
	Stderr
)

// Sink takes what a program tells. An error of it kills the program.
type Sink interface {
	// Started is called first, with the process id.
	Started(id int) error
	// Output is called by one goroutine for each stream. It must not keep the bytes. As long as it does not return, the program waits once
	// it has filled the pipe.
	Output(Stream, []byte) error
}

// Settings are what a Manager works with.
type Settings struct {
	// Environment is what every program gets.
	Environment Environment
	// Most is how many programs may run at the same time.
	Most int
	// Chunk is the most bytes that a Sink gets at once.
	Chunk  int
	Family *Family
	Now    func() time.Time
	Log    logr.Logger
}

// Manager runs programs.
type Manager struct {
	Settings

	// running is there to be waited for; it has taken ones.
	running  sync.WaitGroup
	mu       sync.Mutex
	taken    int
	stopping bool
	programs map[int]*program
}

// NewManager returns a Manager that runs nothing yet.
func NewManager(settings Settings) *Manager {
	return &Manager{Settings: settings, programs: map[int]*program{}}
}

// Run runs a program to its end, or until ctx ends, and returns its exit code. When it returns, nothing of the program is left: neither it, nor
// what it has started in its session. A program that ctx, its limit or the sink has killed is an error.
func (m *Manager) Run(ctx context.Context, spec Spec, sink Sink) (ExitCode, error) {
	cmd, err := m.command(spec)
	if err != nil {
		return 0, err
	}
	if err := m.enter(); err != nil {
		return 0, err
	}
	defer m.leave()
	p, err := m.start(cmd, spec)
	if err != nil {
		return 0, fmt.Errorf("starting program %q: %w", filepath.Base(cmd.Path), pathless(err))
	}
	name := filepath.Base(cmd.Path)
	m.Log.Info("Program started", "program", name, "processID", p.id)
	code, err := m.attend(ctx, p, spec.Limit, sink)
	m.Log.Info("Program ended", "program", name, "processID", p.id, "exitCode", code)
	return code, err
}

// command returns what is to be started, without anything that is open.
func (m *Manager) command(spec Spec) (*exec.Cmd, error) {
	if len(spec.Command) == 0 || spec.Command[0] == "" {
		return nil, fault.New(fault.Invalid, "command: must name a program")
	}
	if spec.Terminal != nil {
		if err := spec.Terminal.validate(); err != nil {
			return nil, err
		}
	}
	for name, value := range spec.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, fault.New(fault.Invalid, "env_vars: %q must not be empty, nor have = or a zero byte in its name, or a zero byte in its value", name)
		}
	}
	if slices.ContainsFunc(spec.Command, func(word string) bool { return strings.ContainsRune(word, 0) }) {
		return nil, fault.New(fault.Invalid, "command: must not contain a zero byte")
	}
	environment := m.Environment.with(map[string]string{"PWD": spec.Dir}).with(spec.Env)
	path, err := find(spec.Command[0], spec.Dir, environment["PATH"])
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: spec.Command, Env: environment.list(), Dir: spec.Dir}, nil
}

func (s Size) validate() error {
	const most = 1<<16 - 1
	if s.Cols < 1 || s.Cols > most || s.Rows < 1 || s.Rows > most {
		return fault.New(fault.Invalid, "cols=%d, rows=%d: each must be from 1 to %d", s.Cols, s.Rows, most)
	}
	return nil
}

func (m *Manager) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return fault.New(fault.Unavailable, "the daemon is about to end and starts no programs")
	}
	if m.taken >= m.Most {
		return fault.New(fault.Exhausted, "%d programs run already, which is the most at a time (--max-processes): wait for one to end", m.taken)
	}
	m.taken++
	m.running.Add(1)
	return nil
}

func (m *Manager) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken--
	m.running.Done()
}

// start starts the program in a session of its own and keeps it among the others.
func (m *Manager) start(cmd *exec.Cmd, spec Spec) (*program, error) {
	streams, err := connect(cmd, spec)
	if err != nil {
		return nil, err
	}
	err = m.Family.Start(cmd)
	streams.closeTheirs()
	if err != nil {
		streams.closeOurs()
		return nil, err
	}
	p := &program{id: cmd.Process.Pid, cmd: cmd, streams: streams, inputEnded: !spec.Input && spec.Terminal == nil}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs[p.id] = p
	return p, nil
}

// attend follows the program to its end.
func (m *Manager) attend(ctx context.Context, p *program, limit time.Duration, sink Sink) (ExitCode, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, fault.New(fault.Late, "program %q was killed: it ran longer than %s", filepath.Base(p.cmd.Path), limit))
		defer stop()
	}
	defer context.AfterFunc(ctx, p.kill)()
	if err := sink.Started(p.id); err != nil {
		cancel(err)
	}
	var readers sync.WaitGroup
	for _, out := range p.streams.outputs {
		readers.Go(func() {
			if err := m.read(p, out, sink); err != nil {
				cancel(err)
			}
		})
	}
	code, err := m.Family.Wait(p.cmd, func() { m.ended(p) })
	p.streams.expect(m.Now().Add(patience))
	readers.Wait()
	p.streams.closeOurs()
	if err == nil && p.wasKilled() {
		err = context.Cause(ctx)
	}
	return code, err
}

// ended kills what the program leaves behind, and forgets it before its process id can be another's.
func (m *Manager) ended(p *program) {
	p.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.programs, p.id)
}

func (m *Manager) program(id int) (*program, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.programs[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "process_id=%d: no program of this daemon runs under it", id)
	}
	return p, nil
}

// WriteInput gives a program input and returns once all of it is written, or ctx ends.
func (m *Manager) WriteInput(ctx context.Context, id int, data []byte) error {
	p, err := m.program(id)
	if err != nil {
		return err
	}
	return p.write(ctx, data)
}

// EndInput ends the input of a program. At a terminal it is what ctrl-D does at the start of a line.
func (m *Manager) EndInput(ctx context.Context, id int) error {
	p, err := m.program(id)
	if err != nil {
		return err
	}
	return p.endInput(ctx)
}

// Signal sends a signal to the process group of a program.
func (m *Manager) Signal(id int, signal syscall.Signal) error {
	p, err := m.program(id)
	if err != nil {
		return err
	}
	return p.signal(signal)
}

// Resize sets the size of a program's terminal.
func (m *Manager) Resize(id int, size Size) error {
	if err := size.validate(); err != nil {
		return err
	}
	p, err := m.program(id)
	if err != nil {
		return err
	}
	return p.streams.resize(size)
}

// Stop starts no more programs, and asks those that run to end.
func (m *Manager) Stop() {
	m.mu.Lock()
	m.stopping = true
	running := slices.Collect(maps.Values(m.programs))
	m.mu.Unlock()
	for _, p := range running {
		// One that has just ended is what was asked for.
		_ = p.signal(unix.SIGTERM)
	}
}

// Wait waits until no program runs. It is for a Manager that was stopped.
func (m *Manager) Wait() { m.running.Wait() }
