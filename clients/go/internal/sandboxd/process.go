package sandboxd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
)

// errIncomplete says that a stream ended before the program did.
var errIncomplete = errors.New("the connection ended before the command did")

// inputChunk is how much input is sent at a time, in bytes.
const inputChunk = 32 << 10

// Process is a program that runs. It ends with the context that it was started under.
type Process struct {
	runtime *Runtime
	stream  grpc.ServerStreamingClient[processv1.StartResponse]
	id      int32
}

// Start has a program started, and returns once it runs.
func (r *Runtime) Start(ctx context.Context, command guest.Command) (*Process, error) {
	config := &processv1.ProcessConfig{Command: command.Args, EnvVars: command.Env}
	if command.Dir != "" {
		config.Cwd = &command.Dir
	}
	request := &processv1.StartRequest{Config: config}
	if size := command.Terminal; size != nil {
		request.Pty = &processv1.PTY{Cols: size.Cols, Rows: size.Rows}
	}
	addressed, err := r.addressed(ctx, transport.NewRequestID())
	if err != nil {
		return nil, err
	}
	stream, err := r.processes.Start(addressed, request)
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	begun := first.GetInit()
	if begun == nil {
		return nil, fmt.Errorf("starting a command: the daemon did not say which process it is")
	}
	return &Process{runtime: r, stream: stream, id: begun.GetProcessId()}, nil
}

// Follow hands on what the program writes, until it ends, and returns its exit code.
func (p *Process) Follow(stdout, stderr io.Writer) (int, error) {
	for {
		event, err := p.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return 0, errIncomplete
		case err != nil:
			return 0, fmt.Errorf("following a command: %w", err)
		}
		switch said := event.GetEvent().(type) {
		case *processv1.StartResponse_Stdout:
			_, err = stdout.Write(said.Stdout)
		case *processv1.StartResponse_Stderr:
			_, err = stderr.Write(said.Stderr)
		case *processv1.StartResponse_Exit:
			return int(said.Exit.GetExitCode()), nil
		}
		if err != nil {
			return 0, fmt.Errorf("handing on the output of a command: %w", err)
		}
	}
}

// Write gives the program input, and returns once it was taken.
func (p *Process) Write(ctx context.Context, input []byte) (int, error) {
	written := 0
	for written < len(input) {
		next := min(written+inputChunk, len(input))
		request := &processv1.WriteStdinRequest{ProcessId: p.id, Data: &processv1.WriteStdinRequest_Input{Input: input[written:next]}}
		if err := p.send(ctx, request); err != nil {
			return written, err
		}
		written = next
	}
	return written, nil
}

// CloseInput ends the program's input.
func (p *Process) CloseInput(ctx context.Context) error {
	return p.send(ctx, &processv1.WriteStdinRequest{ProcessId: p.id, Data: &processv1.WriteStdinRequest_Eof{Eof: &emptypb.Empty{}}})
}

func (p *Process) send(ctx context.Context, request *processv1.WriteStdinRequest) error {
	addressed, err := p.runtime.addressed(ctx, transport.NewRequestID())
	if err != nil {
		return err
	}
	if _, err := p.runtime.processes.WriteStdin(addressed, request); err != nil {
		return fmt.Errorf("giving a command input: %w", err)
	}
	return nil
}

// Signal sends a signal to the program and all that it started: 2, 9 or 15.
func (p *Process) Signal(ctx context.Context, number int) error {
	addressed, err := p.runtime.addressed(ctx, transport.NewRequestID())
	if err != nil {
		return err
	}
	request := &processv1.SendSignalRequest{ProcessId: p.id, Signal: processv1.Signal(number)}
	if _, err := p.runtime.processes.SendSignal(addressed, request); err != nil {
		return fmt.Errorf("sending a command signal %d: %w", number, err)
	}
	return nil
}

// Resize sets the size of the program's terminal.
func (p *Process) Resize(ctx context.Context, size guest.Terminal) error {
	addressed, err := p.runtime.addressed(ctx, transport.NewRequestID())
	if err != nil {
		return err
	}
	request := &processv1.ResizeTTYRequest{ProcessId: p.id, Cols: size.Cols, Rows: size.Rows}
	if _, err := p.runtime.processes.ResizeTTY(addressed, request); err != nil {
		return fmt.Errorf("resizing a command's terminal: %w", err)
	}
	return nil
}
