package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// finder is a resolver that says what it is told to: each answer once, the last for ever.
type finder struct {
	mu      sync.Mutex
	answers []found
	evicted []string
}

type found struct {
	sandbox string
	host    string
	life    context.Context
	err     error
}

func (f *finder) Resolve(_ context.Context, wanted target.Target) (resolve.Endpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	if answer.err != nil {
		return resolve.Endpoint{}, answer.err
	}
	endpoint := resolve.Endpoint{Sandbox: wanted.Sandbox, Host: answer.host, Pod: "pod", Life: context.Background()}
	if answer.sandbox != "" {
		endpoint.Sandbox.Name = answer.sandbox
	}
	if answer.life != nil {
		endpoint.Life = answer.life
	}
	return endpoint, nil
}

func (f *finder) Evict(endpoint resolve.Endpoint) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evicted = append(f.evicted, endpoint.Host)
	return true
}

func at(hosts ...string) *finder {
	var answers []found
	for _, host := range hosts {
		answers = append(answers, found{host: host})
	}
	return &finder{answers: answers}
}

// here is where the backends of tests listen, and nowhere a neighbour where nothing does.
const (
	here    = "127.0.0.1"
	nowhere = "127.0.0.2"
)

// setting is what a test routes with.
type setting struct {
	options  Options
	resolver Resolver
	auth     Authenticator
	clock    clock.WithDelayedExecution
	log      logr.Logger
}

func newSetting(edits ...func(*setting)) setting {
	s := setting{
		options: Options{
			Rules: target.Rules{Loopback: target.AllowLoopback}, RewriteResponses: true,
			Timeout: time.Minute, HeaderTimeout: time.Minute, ConnectTimeout: time.Minute,
			Retries: Retries{Most: 3, First: time.Millisecond, Longest: 2 * time.Millisecond},
			Idle:    Idle{All: 10, PerSandbox: 10, Timeout: time.Minute},
		},
		resolver: at(here), auth: auth.AllowAll{}, clock: clock.RealClock{}, log: logr.Discard(),
	}
	for _, apply := range edits {
		apply(&s)
	}
	return s
}

// router is one that runs until the test ends.
type router struct {
	*httptest.Server
	handler  *Handler
	registry *prometheus.Registry
	// backendPort is where the sandbox of the test listens.
	backendPort string
}

func (s setting) route(t *testing.T, backend http.Handler) *router {
	t.Helper()
	sandbox := httptest.NewUnstartedServer(backend)
	// A sandbox may speak gRPC.
	sandbox.Config.Protocols = new(http.Protocols)
	sandbox.Config.Protocols.SetHTTP1(true)
	sandbox.Config.Protocols.SetUnencryptedHTTP2(true)
	sandbox.Start()
	t.Cleanup(sandbox.Close)
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	handler := New(s.options, s.resolver, s.auth, metrics, s.clock, s.log)
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = sandbox.Config.Protocols
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		handler.Close()
	})
	_, port, err := net.SplitHostPort(sandbox.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return &router{server, handler, registry, port}
}

// request is one to the sandbox of the test.
func (r *router) request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(target.HeaderID, "box")
	request.Header.Set(target.HeaderPort, r.backendPort)
	return request
}

// told is an answer, read to its end.
type told struct {
	status int
	header http.Header
	body   string
	broken error
}

func (r *router) do(t *testing.T, request *http.Request) told {
	t.Helper()
	client := r.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err != nil {
		return told{broken: err}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return told{response.StatusCode, response.Header, string(body), err}
}

func (a told) detail(t *testing.T) string {
	t.Helper()
	var read map[string]string
	if err := json.Unmarshal([]byte(a.body), &read); err != nil {
		t.Fatalf("%d with a body that is no JSON: %q", a.status, a.body)
	}
	if len(read) != 1 || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d: %v as %s", a.status, read, a.header.Get("Content-Type"))
	}
	return read["detail"]
}

// dial opens a connection to the router and sends the head of a request: these lines, and the headers of the sandbox of the test.
func (r *router) dial(t *testing.T, lines ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, err := net.Dial("tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	r.send(t, connection, append(lines, "", "")...)
	return connection, bufio.NewReader(connection)
}

// send sends a line, the headers of the sandbox of the test, and further lines, of which an empty one ends the head.
func (r *router) send(t *testing.T, connection io.Writer, lines ...string) {
	t.Helper()
	lines = slices.Concat(lines[:1], []string{"Host: router.example", target.HeaderID + ": box", target.HeaderPort + ": " + r.backendPort}, lines[1:])
	if _, err := io.WriteString(connection, strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
}

// upgrade asks for another protocol.
func (r *router) upgrade(t *testing.T, lines ...string) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, reader := r.dial(t, append([]string{"GET /socket HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"}, lines...)...)
	if status, header := testkit.ReadHead(t, reader); status != http.StatusSwitchingProtocols || header.Get("Upgrade") != "websocket" {
		t.Fatalf("answered %d, upgraded to %q", status, header.Get("Upgrade"))
	}
	return connection, reader
}

// echo takes an upgrade and says back every line that it is told, until it is told no more.
func echo(writer http.ResponseWriter, _ *http.Request) {
	connection, both, err := http.NewResponseController(writer).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = connection.Close() }()
	_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	for err = both.Flush(); err == nil; err = both.Flush() {
		line, err := both.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = both.WriteString(line)
	}
}

// says sends a line over an upgraded connection and returns what comes back.
func says(connection net.Conn, reader *bufio.Reader, line string) (string, error) {
	_, sent := io.WriteString(connection, line)
	back, err := reader.ReadString('\n')
	return back, errors.Join(sent, err)
}
