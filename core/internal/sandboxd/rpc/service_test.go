package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

type api struct {
	processv1.ProcessServiceClient

	connection *grpc.ClientConn
	dir        string
}

// newAPI serves a directory that lies beside another, with at most 2 programs.
func newAPI(t *testing.T, limits rpc.Limits) api {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "workspace")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.Symlink("..", filepath.Join(dir, "out")))
	must(t, os.WriteFile(filepath.Join(dir, "dull"), []byte("text"), 0o600))
	workspace, err := files.Open(dir)
	must(t, err)
	programs := process.NewManager(process.Settings{
		Environment: process.ParseEnvironment(os.Environ()), Most: 2, Chunk: 4096, Family: process.NewFamily(), Now: time.Now, Log: logr.Discard(),
	})
	server := rpc.NewServer(workspace, programs, limits)
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	connection, err := grpc.NewClient("passthrough:///sandbox", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	must(t, err)
	t.Cleanup(func() {
		must(t, connection.Close())
		server.Stop()
		must(t, <-served)
		programs.Wait()
		must(t, workspace.Close())
	})
	return api{processv1.NewProcessServiceClient(connection), connection, dir}
}

func defaults() rpc.Limits { return rpc.Limits{Output: 1 << 20} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func config(command ...string) *processv1.ProcessConfig {
	return &processv1.ProcessConfig{Command: command}
}

// session is a program that Start has begun.
type session struct {
	stream grpc.ServerStreamingClient[processv1.StartResponse]
	id     int32
	// stdout and stderr are what has come so far.
	stdout, stderr string
	exit           *processv1.ExitEvent
}

func (a api) start(t *testing.T, request *processv1.StartRequest) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	stream, err := a.Start(ctx, request)
	must(t, err)
	first, err := stream.Recv()
	must(t, err)
	s := &session{stream: stream, id: first.GetInit().GetProcessId()}
	if s.id == 0 {
		t.Fatalf("the stream begins with %v", first)
	}
	return s
}

// next takes one message; it is false at the end.
func (s *session) next(t *testing.T) bool {
	t.Helper()
	if s.exit != nil {
		_, err := s.stream.Recv()
		if !errors.Is(err, io.EOF) {
			t.Errorf("after the exit: %v", err)
		}
		return false
	}
	response, err := s.stream.Recv()
	must(t, err)
	switch event := response.GetEvent().(type) {
	case *processv1.StartResponse_Stdout:
		s.stdout += string(event.Stdout)
	case *processv1.StartResponse_Stderr:
		s.stderr += string(event.Stderr)
	case *processv1.StartResponse_Exit:
		s.exit = event.Exit
	default:
		t.Errorf("amid the stream: %v", response)
	}
	return true
}

func (s *session) until(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(s.stdout, text) && s.next(t) {
		continue
	}
}

func (s *session) end(t *testing.T) {
	t.Helper()
	for s.next(t) {
		continue
	}
}

func TestAProgramIsStreamed(t *testing.T) {
	a := newAPI(t, defaults())
	s := a.start(t, &processv1.StartRequest{Config: &processv1.ProcessConfig{
		Command: []string{"sh", "-c", "pwd; echo $GREETING >&2; exit 3"}, EnvVars: map[string]string{"GREETING": "hello"}, Cwd: proto.String("sub"),
	}})
	s.end(t)
	if s.stdout != filepath.Join(a.dir, "sub")+"\n" || s.stderr != "hello\n" || s.exit.GetExitCode() != 3 {
		t.Errorf("%+v", s)
	}
}

func TestAProgramIsTalkedTo(t *testing.T) {
	a := newAPI(t, defaults())
	s := a.start(t, &processv1.StartRequest{Config: config("cat")})
	_, err := a.WriteStdin(t.Context(), &processv1.WriteStdinRequest{ProcessId: s.id, Data: &processv1.WriteStdinRequest_Input{Input: []byte("one")}})
	must(t, err)
	s.until(t, "one")
	_, err = a.WriteStdin(t.Context(), &processv1.WriteStdinRequest{ProcessId: s.id, Data: &processv1.WriteStdinRequest_Eof{Eof: &emptypb.Empty{}}})
	must(t, err)
	s.end(t)
	if s.stdout != "one" || s.exit.GetExitCode() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAProgramIsSignalled(t *testing.T) {
	a := newAPI(t, defaults())
	for signal, want := range map[processv1.Signal]int32{processv1.Signal_SIGNAL_INT: 130, processv1.Signal_SIGNAL_KILL: 137, processv1.Signal_SIGNAL_TERM: 143} {
		s := a.start(t, &processv1.StartRequest{Config: config("sleep", "1000")})
		_, err := a.SendSignal(t.Context(), &processv1.SendSignalRequest{ProcessId: s.id, Signal: signal})
		must(t, err)
		if s.end(t); s.exit.GetExitCode() != want {
			t.Errorf("%s: exit code %d", signal, s.exit.GetExitCode())
		}
	}
}

func TestAProgramHasATerminal(t *testing.T) {
	a := newAPI(t, defaults())
	s := a.start(t, &processv1.StartRequest{Config: config("sh", "-c", "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.01; done"), Pty: &processv1.PTY{Cols: 80, Rows: 24}})
	s.until(t, "24 80\r\n")
	_, err := a.ResizeTTY(t.Context(), &processv1.ResizeTTYRequest{ProcessId: s.id, Cols: 132, Rows: 50})
	must(t, err)
	if s.end(t); !strings.Contains(s.stdout, "50 132\r\n") || s.exit.GetExitCode() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAProgramIsRunToItsEnd(t *testing.T) {
	a := newAPI(t, rpc.Limits{Output: 4})
	got, err := a.Execute(t.Context(), &processv1.ExecuteRequest{Config: config("sh", "-c", "cat; printf 123456; printf err >&2; exit 9")})
	must(t, err)
	want := &processv1.ExecuteResponse{ExitCode: 9, Stdout: []byte("1234"), Stderr: []byte("err\nsandboxd: the last 2 bytes of stdout are missing: 4 are kept (--max-output-bytes)\n")}
	if !proto.Equal(want, got) {
		t.Errorf("got %v", got)
	}
}

// A11.12: a client that goes takes its program with it.
func TestAClientThatGoesTakesItsProgramWithIt(t *testing.T) {
	a := newAPI(t, defaults())
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := a.Start(ctx, &processv1.StartRequest{Config: config("sleep", "1000")})
	must(t, err)
	first, err := stream.Recv()
	must(t, err)
	cancel()
	id := first.GetInit().GetProcessId()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		_, err := a.ResizeTTY(t.Context(), &processv1.ResizeTTYRequest{ProcessId: id, Cols: 80, Rows: 24})
		if status.Code(err) == codes.NotFound {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("the program runs on: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestAProgramThatRunsTooLong(t *testing.T) {
	a := newAPI(t, rpc.Limits{Output: 1, Duration: 200 * time.Millisecond})
	_, err := a.Execute(t.Context(), &processv1.ExecuteRequest{Config: config("sleep", "1000")})
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "200ms") {
		t.Errorf("Execute: %v", err)
	}
	s := a.start(t, &processv1.StartRequest{Config: config("sleep", "1000")})
	if _, err := s.stream.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("Start: %v", err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	in := func(cwd string) *processv1.ProcessConfig {
		return &processv1.ProcessConfig{Command: []string{"true"}, Cwd: proto.String(cwd)}
	}
	for name, test := range map[string]struct {
		config *processv1.ProcessConfig
		pty    *processv1.PTY
		want   codes.Code
	}{
		"no configuration":               {nil, nil, codes.InvalidArgument},
		"an empty command":               {config(), nil, codes.InvalidArgument},
		"a program without a name":       {config(""), nil, codes.InvalidArgument},
		"a program that is not there":    {config("no-such-program"), nil, codes.NotFound},
		"a program that may not be run":  {config("./dull"), nil, codes.PermissionDenied},
		"a directory that is not there":  {in("gone"), nil, codes.NotFound},
		"a directory above the root":     {in(".."), nil, codes.PermissionDenied},
		"a link out of the root":         {in("out"), nil, codes.PermissionDenied},
		"a directory of the system":      {in("/etc"), nil, codes.PermissionDenied},
		"a file to run in":               {in("dull"), nil, codes.FailedPrecondition},
		"a terminal without any columns": {config("true"), &processv1.PTY{Rows: 24}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, defaults())
			if test.pty == nil {
				if _, err := a.Execute(t.Context(), &processv1.ExecuteRequest{Config: test.config}); status.Code(err) != test.want {
					t.Errorf("Execute: %v", err)
				}
			}
			stream, err := a.Start(t.Context(), &processv1.StartRequest{Config: test.config, Pty: test.pty})
			must(t, err)
			if got, err := stream.Recv(); status.Code(err) != test.want {
				t.Errorf("Start: %v, %v", got, err)
			}
		})
	}
}

func TestWhatIsRefusedToAProgram(t *testing.T) {
	a := newAPI(t, defaults())
	s := a.start(t, &processv1.StartRequest{Config: config("cat")})
	for name, test := range map[string]struct {
		act  func(ctx context.Context, id int32) error
		id   int32
		want codes.Code
	}{
		"a signal of no kind":       {a.signal(0), s.id, codes.InvalidArgument},
		"a signal of another kind":  {a.signal(1), s.id, codes.InvalidArgument},
		"input of no kind":          {a.write(nil), s.id, codes.InvalidArgument},
		"a size without columns":    {a.resize(0), s.id, codes.InvalidArgument},
		"a size without a terminal": {a.resize(80), s.id, codes.FailedPrecondition},
		"a signal to nobody":        {a.signal(15), 1, codes.NotFound},
		"input to nobody":           {a.write(&processv1.WriteStdinRequest{Data: &processv1.WriteStdinRequest_Input{}}), 1, codes.NotFound},
		"the end to nobody":         {a.write(&processv1.WriteStdinRequest{Data: &processv1.WriteStdinRequest_Eof{}}), -1, codes.NotFound},
		"a size to nobody":          {a.resize(80), 0, codes.NotFound},
	} {
		if err := test.act(t.Context(), test.id); status.Code(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, a.write(&processv1.WriteStdinRequest{Data: &processv1.WriteStdinRequest_Eof{}})(t.Context(), s.id))
	s.end(t)
	if err := a.write(&processv1.WriteStdinRequest{Data: &processv1.WriteStdinRequest_Eof{}})(t.Context(), s.id); status.Code(err) != codes.NotFound {
		t.Errorf("once it has ended: %v", err)
	}
}

func (a api) signal(n processv1.Signal) func(context.Context, int32) error {
	return func(ctx context.Context, id int32) error {
		_, err := a.SendSignal(ctx, &processv1.SendSignalRequest{ProcessId: id, Signal: n})
		return err
	}
}

func (a api) write(request *processv1.WriteStdinRequest) func(context.Context, int32) error {
	return func(ctx context.Context, id int32) error {
		sent := &processv1.WriteStdinRequest{ProcessId: id, Data: request.GetData()}
		_, err := a.WriteStdin(ctx, sent)
		return err
	}
}

func (a api) resize(cols uint32) func(context.Context, int32) error {
	return func(ctx context.Context, id int32) error {
		_, err := a.ResizeTTY(ctx, &processv1.ResizeTTYRequest{ProcessId: id, Cols: cols, Rows: 24})
		return err
	}
}

func TestTooManyPrograms(t *testing.T) {
	a := newAPI(t, defaults())
	a.start(t, &processv1.StartRequest{Config: config("sleep", "1000")})
	a.start(t, &processv1.StartRequest{Config: config("sleep", "1000")})
	if _, err := a.Execute(t.Context(), &processv1.ExecuteRequest{Config: config("true")}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
}

func TestTheServiceTellsWhatItIs(t *testing.T) {
	a := newAPI(t, defaults())
	stream, err := grpc_reflection_v1.NewServerReflectionClient(a.connection).ServerReflectionInfo(t.Context())
	must(t, err)
	must(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "process.v1.ProcessService"},
	}))
	got, err := stream.Recv()
	must(t, errors.Join(err, stream.CloseSend()))
	if len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("got %v", got)
	}
}

// Clients that were generated from another description of the service go by these numbers alone.
func TestTheNumbersOnTheWire(t *testing.T) {
	want := map[string]string{
		"ProcessConfig":      "command=1:string env_vars=2:message cwd=3:string",
		"PTY":                "cols=1:uint32 rows=2:uint32",
		"StartRequest":       "config=1:message pty=2:message",
		"StartResponse":      "init=1:message stdout=2:bytes stderr=3:bytes exit=4:message",
		"InitEvent":          "process_id=1:int32",
		"ExitEvent":          "exit_code=1:int32",
		"ExecuteRequest":     "config=1:message",
		"ExecuteResponse":    "exit_code=1:int32 stdout=2:bytes stderr=3:bytes",
		"WriteStdinRequest":  "process_id=1:int32 input=2:bytes eof=3:message",
		"WriteStdinResponse": "",
		"SendSignalRequest":  "process_id=1:int32 signal=2:enum",
		"SendSignalResponse": "",
		"ResizeTTYRequest":   "process_id=1:int32 cols=2:uint32 rows=3:uint32",
		"ResizeTTYResponse":  "",
	}
	file := processv1.File_process_v1_process_proto
	got := map[string]string{}
	for n := range file.Messages().Len() {
		message := file.Messages().Get(n)
		var fields []string
		for k := range message.Fields().Len() {
			field := message.Fields().Get(k)
			fields = append(fields, fmt.Sprintf("%s=%d:%s", field.Name(), field.Number(), field.Kind()))
		}
		got[string(message.Name())] = strings.Join(fields, " ")
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("messages (-want +got):\n%s", difference)
	}
	service := file.Services().ByName("ProcessService")
	if service == nil || service.FullName() != "process.v1.ProcessService" || !service.Methods().ByName("Start").IsStreamingServer() {
		t.Errorf("the service is %v", service)
	}
	values := map[protoreflect.Name]protoreflect.EnumNumber{}
	for n := range file.Enums().ByName("Signal").Values().Len() {
		value := file.Enums().ByName("Signal").Values().Get(n)
		values[value.Name()] = value.Number()
	}
	if difference := cmp.Diff(map[protoreflect.Name]protoreflect.EnumNumber{"SIGNAL_UNSPECIFIED": 0, "SIGNAL_INT": 2, "SIGNAL_KILL": 9, "SIGNAL_TERM": 15}, values); difference != "" {
		t.Errorf("signals (-want +got):\n%s", difference)
	}
}
