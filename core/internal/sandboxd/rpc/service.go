package rpc

import (
	"context"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

const (
	// A client that is gone without a word is found by these, so that its programs do not run for nobody.
	pingAfter   = 30 * time.Second
	pingTimeout = 20 * time.Second
	// mostPings is how often clients may ping at most.
	mostPings = 10 * time.Second
	// mostStreams is how many calls a connection may have under way.
	mostStreams = 1000
)

// Limits are those of one program.
type Limits struct {
	// Duration is how long it may run; 0 is for ever.
	Duration time.Duration
	// Output is how many bytes of each of its streams Execute returns.
	Output int
}

type service struct {
	processv1.UnimplementedProcessServiceServer

	workspace *files.Workspace
	programs  *process.Manager
	limits    Limits
}

// NewServer returns a server of the API, with reflection. Programs run in directories of the workspace.
func NewServer(workspace *files.Workspace, programs *process.Manager, limits Limits) *grpc.Server {
	server := grpc.NewServer(
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: mostPings, PermitWithoutStream: true}),
		grpc.MaxConcurrentStreams(mostStreams),
	)
	processv1.RegisterProcessServiceServer(server, &service{workspace: workspace, programs: programs, limits: limits})
	reflection.Register(server)
	return server
}

// Start runs a program and streams what it writes.
func (s *service) Start(request *processv1.StartRequest, stream grpc.ServerStreamingServer[processv1.StartResponse]) error {
	spec, err := s.spec(request.GetConfig())
	if err != nil {
		return answer(err)
	}
	spec.Input = true
	if size := request.GetPty(); size != nil {
		spec.Terminal = &process.Size{Cols: size.GetCols(), Rows: size.GetRows()}
	}
	sink := &streamed{stream: stream}
	code, err := s.programs.Run(stream.Context(), spec, sink)
	if err != nil {
		return answer(err)
	}
	return sink.send(&processv1.StartResponse{Event: &processv1.StartResponse_Exit{Exit: &processv1.ExitEvent{ExitCode: int32(code)}}})
}

// Execute runs a program and returns what it wrote.
func (s *service) Execute(ctx context.Context, request *processv1.ExecuteRequest) (*processv1.ExecuteResponse, error) {
	spec, err := s.spec(request.GetConfig())
	if err != nil {
		return nil, answer(err)
	}
	output := &process.Capture{Limit: s.limits.Output}
	code, err := s.programs.Run(ctx, spec, output)
	if err != nil {
		return nil, answer(err)
	}
	return &processv1.ExecuteResponse{ExitCode: int32(code), Stdout: output.Stdout(), Stderr: output.Stderr()}, nil
}

func (s *service) spec(config *processv1.ProcessConfig) (process.Spec, error) {
	dir, err := s.workspace.Directory(config.GetCwd())
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{Command: config.GetCommand(), Env: config.GetEnvVars(), Dir: dir, Limit: s.limits.Duration}, nil
}

// WriteStdin gives a program input, or ends it.
func (s *service) WriteStdin(ctx context.Context, request *processv1.WriteStdinRequest) (*processv1.WriteStdinResponse, error) {
	var err error
	switch data := request.GetData().(type) {
	case *processv1.WriteStdinRequest_Input:
		err = s.programs.WriteInput(ctx, int(request.GetProcessId()), data.Input)
	case *processv1.WriteStdinRequest_Eof:
		err = s.programs.EndInput(ctx, int(request.GetProcessId()))
	default:
		err = fault.New(fault.Invalid, "data: must be input or eof")
	}
	if err != nil {
		return nil, answer(err)
	}
	return &processv1.WriteStdinResponse{}, nil
}

// SendSignal sends a signal to the process group of a program.
func (s *service) SendSignal(_ context.Context, request *processv1.SendSignalRequest) (*processv1.SendSignalResponse, error) {
	switch request.GetSignal() {
	case processv1.Signal_SIGNAL_INT, processv1.Signal_SIGNAL_KILL, processv1.Signal_SIGNAL_TERM:
	default:
		return nil, answer(fault.New(fault.Invalid, "signal=%d: must be 2, 9 or 15", request.GetSignal()))
	}
	if err := s.programs.Signal(int(request.GetProcessId()), syscall.Signal(request.GetSignal())); err != nil {
		return nil, answer(err)
	}
	return &processv1.SendSignalResponse{}, nil
}

// ResizeTTY sets the size of a program's terminal.
func (s *service) ResizeTTY(_ context.Context, request *processv1.ResizeTTYRequest) (*processv1.ResizeTTYResponse, error) {
	size := process.Size{Cols: request.GetCols(), Rows: request.GetRows()}
	if err := s.programs.Resize(int(request.GetProcessId()), size); err != nil {
		return nil, answer(err)
	}
	return &processv1.ResizeTTYResponse{}, nil
}

// streamed sends what a program tells to the client. A stream takes one message at a time.
type streamed struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[processv1.StartResponse]
}

func (s *streamed) send(response *processv1.StartResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.Send(response)
}

// Started sends the first message.
func (s *streamed) Started(id int) error {
	return s.send(&processv1.StartResponse{Event: &processv1.StartResponse_Init{Init: &processv1.InitEvent{ProcessId: int32(id)}}})
}

// Output sends a part of a stream. What is sent is encoded before it returns, so it keeps nothing.
func (s *streamed) Output(stream process.Stream, data []byte) error {
	if stream == process.Stderr {
		return s.send(&processv1.StartResponse{Event: &processv1.StartResponse_Stderr{Stderr: data}})
	}
	return s.send(&processv1.StartResponse{Event: &processv1.StartResponse_Stdout{Stdout: data}})
}

// answer gives an error the code of its kind.
func answer(err error) error {
	if told, ok := status.FromError(err); ok {
		return told.Err()
	}
	return status.Error(codeOf(fault.KindOf(err)), err.Error())
}

func codeOf(kind fault.Kind) codes.Code {
	switch kind {
	case fault.Invalid:
		return codes.InvalidArgument
	case fault.Forbidden:
		return codes.PermissionDenied
	case fault.NotFound:
		return codes.NotFound
	case fault.Conflict, fault.Premature:
		return codes.FailedPrecondition
	case fault.Exhausted:
		return codes.ResourceExhausted
	case fault.Late:
		return codes.DeadlineExceeded
	case fault.Unavailable:
		return codes.Unavailable
	case fault.Internal:
	}
	return codes.Internal
}
