package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

const (
	// patience is how long output is waited for once the program has ended. All who could write have been killed, but for sessions of their
	// own that hold on to the pipe.
	patience = 250 * time.Millisecond
	// leftover is the most bytes that can be left of the program's output then: the largest pipe that Linux gives without privileges.
	leftover = 1 << 20
)

// program is one that runs.
type program struct {
	id      int
	cmd     *exec.Cmd
	streams *streams

	// mu keeps signals from a process id that is not the program's any more.
	mu     sync.Mutex
	killed bool
	gone   atomic.Bool

	// inputMu keeps each input in one piece.
	inputMu    sync.Mutex
	inputEnded bool
}

// kill ends the program and its session at once, if it has not ended by itself.
func (p *program) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone.Load() {
		return
	}
	p.killed = true
	killSession(p.id)
}

// end is called when the program has ended, and before its process id is given back.
func (p *program) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killSession(p.id)
	p.gone.Store(true)
}

func (p *program) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

func (p *program) signal(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone.Load() {
		return fault.New(fault.NotFound, "process_id=%d: the program has ended", p.id)
	}
	if err := unix.Kill(-p.id, signal); err != nil {
		return fmt.Errorf("sending signal %d to the process group of %d: %w", signal, p.id, err)
	}
	return nil
}

// read hands what the program writes to the sink, until nobody can write any more.
func (m *Manager) read(p *program, out output, sink Sink) error {
	buffer := make([]byte, m.Chunk)
	left := leftover
	for left > 0 {
		gone := p.gone.Load()
		if gone {
			out.expect(m.Now().Add(patience))
		}
		n, err := out.file.Read(buffer)
		if n > 0 {
			if err := sink.Output(out.stream, buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			// The end of a pipe or, as an error of input, of a terminal; or nothing more has come in time.
			return nil
		}
		if gone {
			left -= n
		}
	}
	return nil
}

func (p *program) write(ctx context.Context, data []byte) error {
	p.inputMu.Lock()
	defer p.inputMu.Unlock()
	if p.inputEnded {
		return p.noInput()
	}
	return p.put(ctx, data)
}

func (p *program) put(ctx context.Context, data []byte) error {
	// A program that does not read must not hold its writer for ever.
	done := p.streams.limitInput(ctx)
	_, err := p.streams.input.Write(data)
	done()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EIO):
		p.inputEnded = true
		return p.noInput()
	}
	return fmt.Errorf("writing input of process %d: %w", p.id, pathless(err))
}

func (p *program) noInput() error {
	return fault.New(fault.Premature, "process_id=%d: its input has ended", p.id)
}

func (p *program) endInput(ctx context.Context) error {
	p.inputMu.Lock()
	defer p.inputMu.Unlock()
	if p.inputEnded {
		return p.noInput()
	}
	if p.streams.terminal != nil {
		const endOfTransmission = 4
		if err := p.put(ctx, []byte{endOfTransmission}); err != nil {
			return err
		}
		p.inputEnded = true
		return nil
	}
	p.inputEnded = true
	return p.streams.input.Close()
}
