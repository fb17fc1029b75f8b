package sandboxd

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/shlex"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/pause"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
)

// Ports are those of the daemon.
type Ports struct {
	// REST serves files, GRPC processes.
	REST, GRPC int
}

// Runtime is the daemon of one sandbox. It is safe for concurrent use.
type Runtime struct {
	caller    *transport.Caller
	route     *transport.Route
	processes processv1.ProcessServiceClient
	ports     Ports
}

// New returns the Runtime that is reached by caller and conn.
func New(caller *transport.Caller, conn grpc.ClientConnInterface, route *transport.Route, ports Ports) *Runtime {
	return &Runtime{caller: caller, route: route, processes: processv1.NewProcessServiceClient(conn), ports: ports}
}

// Run has a command run to its end. It is split as a shell does, without one.
func (r *Runtime) Run(ctx context.Context, command string, attempts transport.Attempts) (guest.Result, error) {
	args, err := shlex.Split(command)
	if err != nil {
		return guest.Result{}, fmt.Errorf("splitting the command into words: %w", err)
	}
	request := &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{Command: args}}
	backoff := transport.Backoff()
	id := transport.NewRequestID()
	for attempt := 1; ; attempt++ {
		result, err := r.execute(ctx, id, request)
		switch {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			return guest.Result{}, fmt.Errorf("running a command: %w", context.Cause(ctx))
		case status.Code(err) != codes.Unavailable:
			return guest.Result{}, fmt.Errorf("running a command: %w", told(err))
		case attempt >= attempts.Max && attempts.Max > 1:
			return guest.Result{}, fmt.Errorf("running a command: %w (%d): %w", transport.ErrRetriesExhausted, attempts.Max, err)
		case attempt >= attempts.Max:
			return guest.Result{}, fmt.Errorf("running a command: %w", err)
		}
		if err := pause.For(ctx, backoff.Step()); err != nil {
			return guest.Result{}, fmt.Errorf("running a command: %w", err)
		}
	}
}

func (r *Runtime) execute(ctx context.Context, id string, request *processv1.ExecuteRequest) (guest.Result, error) {
	ctx, err := r.addressed(ctx, id)
	if err != nil {
		return guest.Result{}, err
	}
	answer, err := r.processes.Execute(ctx, request, grpc.MaxCallRecvMsgSize(guest.MaxRunResponse))
	if err != nil {
		return guest.Result{}, err
	}
	return guest.Result{Stdout: string(answer.GetStdout()), Stderr: string(answer.GetStderr()), ExitCode: int(answer.GetExitCode())}, nil
}

// addressed gives a call what a router needs to know.
func (r *Runtime) addressed(ctx context.Context, id string) (context.Context, error) {
	headers, err := r.route.Headers(ctx, r.ports.GRPC, id)
	if err != nil {
		return nil, err
	}
	carried := metadata.MD{}
	for key, values := range headers {
		carried.Append(key, values...)
	}
	return metadata.NewOutgoingContext(ctx, carried), nil
}

// told gives the refusals of the daemon their place among our errors.
func told(err error) error {
	if status.Code(err) == codes.ResourceExhausted {
		return errors.Join(guest.ErrTooLarge, err)
	}
	return err
}
