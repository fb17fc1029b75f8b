package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/serve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a router that serves a sandbox on this machine.
type running struct {
	address, health string
	// sandbox is the port of the sandbox.
	sandbox string
	stop    context.CancelFunc
	ended   chan error
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func start(t *testing.T, edit func(*serve.Options)) *running {
	t.Helper()
	rules := target.Rules{Loopback: target.AllowLoopback}
	metrics, err := proxy.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	handler := proxy.New(proxy.Options{Rules: rules, ConnectTimeout: time.Minute}, resolve.NewDirect("example.org"), auth.AllowAll{}, metrics, clock.RealClock{}, logr.Discard())
	o := serve.Options{Plain: listen(t), Health: listen(t), ShutdownTimeout: time.Minute, Log: logr.Discard()}
	edit(&o)
	ctx, stop := context.WithCancel(context.Background())
	r := &running{
		address: o.Plain.Addr().String(), health: "http://" + o.Health.Addr().String(), sandbox: startSandbox(t), stop: stop, ended: make(chan error, 1),
	}
	go func() { r.ended <- serve.Run(ctx, o, handler, serve.NewProbes(rules, func() bool { return true })) }()
	t.Cleanup(func() {
		stop()
		handler.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// startSandbox serves, on its port, /wait until it is told to go on, and an echo of lines for what is upgraded.
func startSandbox(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Upgrade") == "" {
			_, _ = io.Copy(writer, request.Body)
			return
		}
		connection, both, err := http.NewResponseController(writer).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = both.Flush()
		_, _ = io.Copy(connection, both)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// dial sends the head of a request to the sandbox.
func (r *running) dial(t *testing.T, lines ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	lines = append(lines, "Host: router", target.HeaderID+": box", target.HeaderPort+": "+r.sandbox, target.HeaderPodIP+": 127.0.0.1", "", "")
	if _, err := io.WriteString(connection, strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
	return connection, bufio.NewReader(connection)
}

func (r *running) upgrade(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, reader := r.dial(t, "GET /socket HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket")
	if status, _ := testkit.ReadHead(t, reader); status != http.StatusSwitchingProtocols {
		t.Fatalf("answered %d", status)
	}
	return connection, reader
}

// awaitDrain waits until the router says that it stops, and takes no connection.
func (r *running) awaitDrain(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the router to drain", func() error {
		if status, text := get(t, r.health+"/readyz"); status != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz answers %d %s", status, text)
		}
		connection, err := net.Dial("tcp", r.address)
		if err == nil {
			return fmt.Errorf("a new connection is taken: %w", connection.Close())
		}
		return nil
	})
	if status, _ := get(t, r.health+"/healthz"); status != http.StatusOK {
		t.Errorf("a router that drains is not alive: %d", status)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// A WebSocket that is open when the router is to stop stays open, and works, until its client closes it.
func TestAnUpgradedConnectionIsHeldOpenOverADrain(t *testing.T) {
	r := start(t, func(*serve.Options) {})
	connection, reader := r.upgrade(t)
	r.stop()
	r.awaitDrain(t)
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(connection, line); err != nil {
			t.Fatal(err)
		}
		if got, err := reader.ReadString('\n'); err != nil || got != line {
			t.Fatalf("%v, came back %q, want %q", err, got, line)
		}
	}
	select {
	case err := <-r.ended:
		t.Fatalf("it ended with the connection open: %v", err)
	default:
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestARequestUnderWayIsAnsweredOverADrain(t *testing.T) {
	r := start(t, func(*serve.Options) {})
	connection, reader := r.dial(t, "POST /wait HTTP/1.1", "Content-Length: 5")
	// A second request shows that the first is in.
	r.upgradeAndClose(t)
	r.stop()
	r.awaitDrain(t)
	if _, err := io.WriteString(connection, "hello"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "hello" || !response.Close {
		t.Errorf("%v, answered %s %q, and the connection stays: %t", err, response.Status, body, !response.Close)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func (r *running) upgradeAndClose(t *testing.T) {
	t.Helper()
	connection, reader := r.upgrade(t)
	if _, err := io.WriteString(connection, "x\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
}

// slowly lets what is written to its connections leave late, so that who closes one without waiting for an answer cuts it off.
type slowly struct{ net.Listener }

// Accept implements net.Listener.
func (l slowly) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	return slowConn{connection}, err
}

type slowConn struct{ net.Conn }

// Write implements net.Conn.
func (c slowConn) Write(data []byte) (int, error) {
	time.Sleep(50 * time.Millisecond) //nolint:forbidigo // A slow link is what this stands for: nothing is waited for.
	return c.Conn.Write(data)
}

// Never a hang: what outlasts the timeout is cut, with an answer where one can be given.
func TestWhatOutlastsTheDrainIsCut(t *testing.T) {
	r := start(t, func(o *serve.Options) { o.ShutdownTimeout, o.Plain = 100*time.Millisecond, slowly{o.Plain} })
	_, upgraded := r.upgrade(t)
	_, waiting := r.dial(t, "POST /wait HTTP/1.1", "Content-Length: 5")
	r.upgradeAndClose(t)
	r.stop()
	response, err := http.ReadResponse(waiting, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var told map[string]string
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusServiceUnavailable || told["detail"] != "The router stops: try again." || response.Header.Get("Retry-After") == "" {
		t.Errorf("answered %s %v", response.Status, told)
	}
	if line, err := upgraded.ReadString('\n'); err == nil {
		t.Errorf("the upgraded connection says %q", line)
	}
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	r := start(t, func(o *serve.Options) { o.MaxConnections = 1 })
	first, _ := r.upgrade(t)
	_, reader := r.dial(t, "GET / HTTP/1.1")
	answers := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(reader, nil) //nolint:bodyclose // The connection is closed with the test.
		answers <- err
	}()
	testkit.Throughout(t, 100*time.Millisecond, "the second connection waits", func() error {
		select {
		case err := <-answers:
			return fmt.Errorf("answered: %w", err)
		default:
			return nil
		}
	})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-answers; err != nil {
		t.Error(err)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestProbes(t *testing.T) {
	ready := false
	rules := target.Rules{PathPrefix: "/s"}
	probes := serve.NewProbes(rules, func() bool { return ready })
	sandbox := http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { writer.WriteHeader(http.StatusTeapot) })
	for name, test := range map[string]struct {
		method, path, id string
		ready            bool
		status           int
		body             string
	}{
		"alive":                        {path: "/healthz", status: 200, body: `{"status":"ok"}`},
		"not ready yet":                {path: "/readyz", status: 503, body: `{"status":"the Pods of sandboxes are not known yet"}`},
		"ready":                        {path: "/readyz", ready: true, status: 200, body: `{"status":"ok"}`},
		"a sandbox's own":              {path: "/healthz", id: "box", status: http.StatusTeapot},
		"a sandbox's own, by a path":   {path: "/s/healthz", status: http.StatusTeapot},
		"nothing that is written to":   {method: http.MethodPost, path: "/healthz", status: http.StatusTeapot},
		"nothing else of the router's": {path: "/metrics", status: http.StatusTeapot},
	} {
		t.Run(name, func(t *testing.T) {
			ready = test.ready
			method := http.MethodGet
			if test.method != "" {
				method = test.method
			}
			request, err := http.NewRequestWithContext(t.Context(), method, test.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if test.id != "" {
				request.Header.Set(target.HeaderID, test.id)
			}
			out := newRecorder()
			probes.Beside(sandbox).ServeHTTP(out, request)
			if out.Code != test.status || strings.TrimSpace(out.Body.String()) != test.body {
				t.Errorf("answered %d %s", out.Code, out.Body)
			}
		})
	}
}
