package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	processv1 "sigs.k8s.io/agent-sandbox/core/api/process/v1"
)

// daemon serves the API of processes over real gRPC: its one program says what it was given, and repeats its input until that ends.
type daemon struct {
	processv1.UnimplementedProcessServiceServer

	address string
	// unavailable is how many calls fail before one succeeds.
	unavailable int

	mu      sync.Mutex
	carried metadata.MD
	input   chan string
	signals []processv1.Signal
	size    []uint32
	ended   chan struct{}
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{address: listener.Addr().String(), input: make(chan string, 10), ended: make(chan struct{})}
	server := grpc.NewServer()
	processv1.RegisterProcessServiceServer(server, d)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // it ends by Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return d
}

func (d *daemon) note(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.carried, _ = metadata.FromIncomingContext(ctx)
}

// Execute implements the service.
func (d *daemon) Execute(ctx context.Context, r *processv1.ExecuteRequest) (*processv1.ExecuteResponse, error) {
	d.note(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unavailable > 0 {
		d.unavailable--
		return nil, status.Error(codes.Unavailable, "not yet")
	}
	if r.GetConfig().GetCommand()[0] == "large" {
		return &processv1.ExecuteResponse{Stdout: make([]byte, 16<<20), Stderr: []byte("x")}, nil
	}
	return &processv1.ExecuteResponse{ExitCode: 5, Stdout: []byte(strings.Join(r.GetConfig().GetCommand(), "|"))}, nil
}

// Start implements the service.
func (d *daemon) Start(r *processv1.StartRequest, stream grpc.ServerStreamingServer[processv1.StartResponse]) error {
	d.note(stream.Context())
	defer close(d.ended)
	const id = 42
	send := func(event *processv1.StartResponse) { _ = stream.Send(event) } // the test reads what arrives
	send(&processv1.StartResponse{Event: &processv1.StartResponse_Init{Init: &processv1.InitEvent{ProcessId: id}}})
	send(&processv1.StartResponse{Event: &processv1.StartResponse_Stderr{Stderr: []byte(r.GetConfig().GetCwd() + r.GetConfig().GetEnvVars()["A"])}})
	for {
		select {
		case text, more := <-d.input:
			if !more {
				send(&processv1.StartResponse{Event: &processv1.StartResponse_Exit{Exit: &processv1.ExitEvent{ExitCode: 7}}})
				return nil
			}
			send(&processv1.StartResponse{Event: &processv1.StartResponse_Stdout{Stdout: []byte(text)}})
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// WriteStdin implements the service.
func (d *daemon) WriteStdin(ctx context.Context, r *processv1.WriteStdinRequest) (*processv1.WriteStdinResponse, error) {
	if r.GetProcessId() != 42 {
		return nil, status.Error(codes.NotFound, "no such process")
	}
	switch {
	case string(r.GetInput()) == endOfInput:
		close(d.input)
		<-d.ended
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-time.After(100 * time.Millisecond):
		}
	case r.GetEof() != nil:
		close(d.input)
	default:
		d.input <- string(r.GetInput())
	}
	return &processv1.WriteStdinResponse{}, nil
}

// SendSignal implements the service.
func (d *daemon) SendSignal(_ context.Context, r *processv1.SendSignalRequest) (*processv1.SendSignalResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signals = append(d.signals, r.GetSignal())
	return &processv1.SendSignalResponse{}, nil
}

// ResizeTTY implements the service.
func (d *daemon) ResizeTTY(_ context.Context, r *processv1.ResizeTTYRequest) (*processv1.ResizeTTYResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size = []uint32{r.GetCols(), r.GetRows()}
	return &processv1.ResizeTTYResponse{}, nil
}

// split has a transport reach the daemon's two ports where they are, whatever the Pod's address.
func split(d *daemon, g *guest) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		to := map[string]string{net.JoinHostPort(podIP, "8080"): g.Listener.Addr().String(), net.JoinHostPort(podIP, "9090"): d.address}[address]
		return (&net.Dialer{}).DialContext(ctx, network, to)
	}}
}

func daemonClient(t *testing.T, c *cluster, d *daemon, g *guest) *sandbox.Client {
	t.Helper()
	return newClient(t, c, g, func(o *sandbox.Options) {
		o.APIURL, o.Connectivity, o.Runtime, o.HTTPTransport = "", sandbox.ConnectivityInCluster, sandbox.RuntimeSandboxd, split(d, g)
	})
}

func TestCommandsRunInTheDaemon(t *testing.T) {
	leaktest.Check(t)
	c, d, g := newCluster(t), newDaemon(t), newGuest(t)
	sb := mustCreate(t, daemonClient(t, c, d, g))
	ran, err := sb.Run(t.Context(), `sh -c "ls | wc"`)
	if diff := cmp.Diff(&sandbox.ExecutionResult{Stdout: "sh|-c|ls | wc", ExitCode: 5}, ran); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got := d.carried.Get("x-sandbox-timeout"); len(got) != 1 || got[0] != "180" {
		t.Errorf("the deadline is carried as %v", got)
	}
	if got := d.carried.Get("x-sandbox-id"); len(got) != 0 {
		t.Errorf("there is no router, but it is told %v", got)
	}
	if _, err := sb.Run(t.Context(), "large"); !errors.Is(err, sandbox.ErrResponseTooLarge) {
		t.Errorf("got %v, want %v", err, sandbox.ErrResponseTooLarge)
	}
	d.unavailable = 1
	if _, err := sb.Run(t.Context(), "once"); status.Code(errors.Unwrap(err)) != codes.Unavailable {
		t.Errorf("got %v, want the first failure", err)
	}
	d.unavailable = 1
	if _, err := sb.Run(t.Context(), "again", sandbox.WithMaxAttempts(2)); err != nil {
		t.Error(err)
	}
	d.unavailable = 9
	if _, err := sb.Run(t.Context(), "again", sandbox.WithMaxAttempts(2)); !errors.Is(err, sandbox.ErrRetriesExhausted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrRetriesExhausted)
	}
	if _, err := sb.Run(t.Context(), `"unbalanced`); err == nil || !strings.Contains(err.Error(), "splitting") {
		t.Errorf("got %v, want an error about its words", err)
	}
}

func TestACommandIsStreamed(t *testing.T) {
	leaktest.Check(t)
	c, d, g := newCluster(t), newDaemon(t), newGuest(t)
	sb := mustCreate(t, daemonClient(t, c, d, g))
	var stdout, stderr bytes.Buffer
	process, err := sb.Commands().Start(t.Context(), sandbox.Command{
		Args: []string{"cat"}, Env: map[string]string{"A": "1"}, Dir: "src/", Stdout: &stdout, Stderr: &stderr, Terminal: &sandbox.Terminal{Cols: 80, Rows: 24},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(process, "one "); err != nil {
		t.Error(err)
	}
	large := strings.Repeat("x", 100<<10)
	if n, err := io.WriteString(process, large); n != len(large) || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
	if err := process.Signal(t.Context(), sandbox.SignalInterrupt); err != nil {
		t.Error(err)
	}
	if err := process.Resize(t.Context(), sandbox.Terminal{Cols: 100, Rows: 50}); err != nil {
		t.Error(err)
	}
	if err := process.CloseInput(); err != nil {
		t.Error(err)
	}
	code, err := process.Wait()
	if code != 7 || err != nil || stdout.String() != "one "+large || stderr.String() != "src/1" {
		t.Errorf("exit code %d, %v, %d bytes of output, errors %q", code, err, stdout.Len(), stderr.String())
	}
	if diff := cmp.Diff([]uint32{100, 50}, d.size); diff != "" || len(d.signals) != 1 || d.signals[0] != processv1.Signal_SIGNAL_INT {
		t.Errorf("signals %v, size %s", d.signals, diff)
	}
}

// endOfInput is what people type to end a program, which may have ended before it is told that this was taken.
const endOfInput = "\x04"

func TestInputThatEndsACommandIsTaken(t *testing.T) {
	leaktest.Check(t)
	c, d, g := newCluster(t), newDaemon(t), newGuest(t)
	sb := mustCreate(t, daemonClient(t, c, d, g))
	process, err := sb.Commands().Start(t.Context(), sandbox.Command{Args: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := process.Wait()
		ended <- err
	}()
	if _, err := io.WriteString(process, endOfInput); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	leaktest.Check(t)
	c, d, g := newCluster(t), newDaemon(t), newGuest(t)
	sb := mustCreate(t, daemonClient(t, c, d, g))
	ctx, cancel := context.WithCancel(t.Context())
	process, err := sb.Commands().Start(ctx, sandbox.Command{Args: []string{"sleep", "infinity"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := process.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	<-d.ended
}

func TestTheOlderRuntimeStreamsNoCommand(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	if _, err := sb.Commands().Start(t.Context(), sandbox.Command{Args: []string{"cat"}}); !errors.Is(err, sandbox.ErrUnsupportedByRuntime) {
		t.Errorf("got %v, want %v", err, sandbox.ErrUnsupportedByRuntime)
	}
	if _, err := sb.Commands().Start(t.Context(), sandbox.Command{}); err == nil || !strings.Contains(err.Error(), "args") {
		t.Errorf("got %v, want an error that names args", err)
	}
}

func TestFilesOfTheDaemon(t *testing.T) {
	c, d, g := newCluster(t), newDaemon(t), newGuest(t)
	var body string
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPut:
			content, _ := io.ReadAll(r.Body) // what is missing fails the test
			body = string(content)
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(r.URL.Path, "none"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code": "NOT_FOUND", "message": "no such file"}`)
		case strings.HasSuffix(r.URL.Path, "a.json"):
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			_, _ = io.WriteString(w, "{}")
		case strings.HasSuffix(r.URL.Path, "dir"):
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"path": "/dir", "entries": [{"name": "a", "size": 3, "type": "file", "modified_at": "2026-06-01T12:00:00Z", "mode": "0644"}]}`)
		}
		return true
	}
	sb := mustCreate(t, daemonClient(t, c, d, g))
	if err := sb.Write(t.Context(), "deep/down/a..b", []byte("hi")); err != nil || body != "hi" {
		t.Errorf("wrote %q, %v", body, err)
	}
	if err := sb.Files().WriteFrom(t.Context(), "a", strings.NewReader("streamed")); err != nil || body != "streamed" {
		t.Errorf("wrote %q, %v", body, err)
	}
	listed, err := sb.List(t.Context(), "dir")
	if err != nil || len(listed) != 1 || listed[0].Mode != "0644" || strconv.Itoa(listed[0].ModTime.Year()) != "2026" {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if exists, err := sb.Exists(t.Context(), "none"); exists || err != nil {
		t.Errorf("none exists: %v, %v", exists, err)
	}
	if exists, err := sb.Exists(t.Context(), "a"); !exists || err != nil {
		t.Errorf("a exists: %v, %v", exists, err)
	}
	if err := sb.Delete(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), "NOT_FOUND: no such file") {
		t.Errorf("got %v, want what the daemon said", err)
	}
	if read, err := sb.Read(t.Context(), "a.json"); string(read) != "{}" || err != nil {
		t.Errorf("read %q, %v", read, err)
	}
	if read, err := sb.Read(t.Context(), "dir"); err == nil || !strings.Contains(err.Error(), `"dir" is a directory`) {
		t.Errorf("read %q of a directory, %v", read, err)
	}
	if listed, err := sb.List(t.Context(), "a.json"); err == nil || !strings.Contains(err.Error(), `"a.json" is a file`) {
		t.Errorf("listed %v in a file, %v", listed, err)
	}
	var asked []string
	for _, request := range g.requests() {
		asked = append(asked, request.Method+" "+request.RequestURI)
	}
	want := []string{
		"PUT /v1/files/deep/down/a..b", "PUT /v1/files/a", "GET /v1/files/dir", "HEAD /v1/files/none", "HEAD /v1/files/a", "DELETE /v1/files/none?recursive=true",
		"GET /v1/files/a.json", "GET /v1/files/dir", "GET /v1/files/a.json",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}
