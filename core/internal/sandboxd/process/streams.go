package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

// streams are what connects the daemon to a program.
type streams struct {
	// input is nil for a program without.
	input    *os.File
	outputs  []output
	terminal *os.File
	// ours and theirs are all ends, by who has them once the program runs.
	ours, theirs []*os.File
}

// output is one that the program writes to.
type output struct {
	file   *os.File
	stream Stream
}

// expect ends the wait for output at that time.
func (o output) expect(until time.Time) {
	// What cannot have a deadline is closed already.
	_ = o.file.SetReadDeadline(until)
}

// connect opens the streams and gives the program its ends. It makes the program lead a session: so all that it starts can be found, and a
// terminal is its own.
func connect(cmd *exec.Cmd, spec Spec) (*streams, error) {
	s := &streams{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if spec.Terminal != nil {
		cmd.SysProcAttr.Setctty = true
		err = s.openTerminal(cmd, *spec.Terminal)
	} else {
		err = s.openPipes(cmd, spec)
	}
	if err != nil {
		s.closeTheirs()
		s.closeOurs()
		return nil, err
	}
	return s, nil
}

func (s *streams) openPipes(cmd *exec.Cmd, spec Spec) error {
	stdout, err := s.outputPipe(Stdout)
	if err != nil {
		return err
	}
	stderr, err := s.outputPipe(Stderr)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if !spec.Input {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("opening a pipe: %w", err)
	}
	s.input, cmd.Stdin = write, read
	s.ours, s.theirs = append(s.ours, write), append(s.theirs, read)
	return nil
}

func (s *streams) outputPipe(stream Stream) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	s.outputs = append(s.outputs, output{read, stream})
	s.ours, s.theirs = append(s.ours, read), append(s.theirs, write)
	return write, nil
}

func (s *streams) openTerminal(cmd *exec.Cmd, size Size) error {
	blocking, tty, err := pty.Open()
	if err != nil {
		return fmt.Errorf("opening a terminal: %w", err)
	}
	s.theirs = append(s.theirs, tty)
	terminal, err := pollable(blocking)
	if err != nil {
		return fmt.Errorf("opening a terminal: %w", err)
	}
	s.terminal, s.input = terminal, terminal
	s.ours = append(s.ours, terminal)
	s.outputs = []output{{terminal, Stdout}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	return s.resize(size)
}

// pollable returns the same open file with deadlines: package pty leaves it without, and a read would outlast the program.
func pollable(blocking *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, blocking.Close()); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), blocking.Name()), nil
}

func (s *streams) resize(size Size) error {
	if s.terminal == nil {
		return fault.New(fault.Premature, "the program was started without a terminal")
	}
	connection, err := s.terminal.SyscallConn()
	if err != nil {
		return fmt.Errorf("reaching the terminal: %w", err)
	}
	var refused error
	window := &unix.Winsize{Row: uint16(size.Rows), Col: uint16(size.Cols)}
	err = connection.Control(func(fd uintptr) { refused = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, window) })
	if err := errors.Join(err, refused); err != nil {
		return fmt.Errorf("setting the size of the terminal: %w", err)
	}
	return nil
}

// limitInput has writes end with ctx, until the function that it returns is called.
func (s *streams) limitInput(ctx context.Context) func() {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.input.SetWriteDeadline(time.Unix(1, 0))
		close(ended)
	})
	return func() {
		if !stop() {
			<-ended
			_ = s.input.SetWriteDeadline(time.Time{})
		}
	}
}

// expect ends the wait for all output at that time.
func (s *streams) expect(until time.Time) {
	for _, out := range s.outputs {
		out.expect(until)
	}
}

func (s *streams) closeTheirs() { closeAll(s.theirs) }

func (s *streams) closeOurs() { closeAll(s.ours) }

// closeAll closes pipes and terminals, where nothing can be lost by it; some are closed already.
func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
