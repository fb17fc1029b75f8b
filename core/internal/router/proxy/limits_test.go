package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// slow is a setting whose time a test has in hand: ten minutes for an exchange, one for the beginning of its answer.
func slow(c *clocktesting.FakeClock) setting {
	return newSetting(func(s *setting) {
		s.clock, s.options.Timeout, s.options.HeaderTimeout = c, 10*time.Minute, time.Minute
	})
}

// A9.3: what takes long is cut when the flags or the client say so, and not earlier; a connection that is upgraded, and an answer that
// streams, never are.
func TestHowLongAnExchangeMayTake(t *testing.T) {
	for name, test := range map[string]struct {
		asked string // by the client
		// backend begins an answer; nil: it does not begin.
		backend func(http.ResponseWriter)
		// timers are those that run once the sandbox has got that far; -1: none.
		timers int
		wait   time.Duration
		status int
		cut    bool
	}{
		"an answer that does not begin": {wait: 61 * time.Second, status: http.StatusGatewayTimeout, cut: true},
		"not before its time":           {wait: 59 * time.Second, status: http.StatusOK},
		"a client that waits longer":    {asked: "300", wait: 299 * time.Second, status: http.StatusOK},
		"longer than any flag":          {asked: "3600.5", wait: time.Hour, status: http.StatusOK},
		"but not for ever":              {asked: "5m", wait: 301 * time.Second, status: http.StatusGatewayTimeout, cut: true},
		"a client that waits less":      {asked: "1.5", wait: 2 * time.Second, status: http.StatusGatewayTimeout, cut: true},
		"a client that makes no sense":  {asked: "soon", wait: 61 * time.Second, status: http.StatusGatewayTimeout, cut: true},
		"server-sent events": {
			backend: func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream; charset=utf-8") }, timers: -1, wait: 24 * time.Hour, status: http.StatusOK,
		},
		"an answer without a length": {backend: func(http.ResponseWriter) {}, timers: -1, wait: 24 * time.Hour, status: http.StatusOK},
		"an answer of a length that does not come": {
			backend: func(w http.ResponseWriter) { w.Header().Set("Content-Length", "1000") }, timers: 1, wait: 11 * time.Minute, cut: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
			waits, proceed := make(chan struct{}), make(chan struct{})
			r := slow(fake).route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
				if test.backend != nil {
					test.backend(writer)
					_, _ = io.WriteString(writer, "begun ")
					_ = http.NewResponseController(writer).Flush()
				}
				close(waits)
				select {
				case <-proceed:
				case <-request.Context().Done():
				}
				_, _ = io.WriteString(writer, "done")
			}))
			request := r.request(t, http.MethodGet, "/", nil)
			request.Header.Set(headerTimeout, test.asked)
			answers := make(chan told, 1)
			go func() { answers <- r.do(t, request) }()
			<-waits
			timers := max(cmp.Or(test.timers, 2), 0)
			testkit.Eventually(t, "the exchange to notice how far it is", func() error {
				if running := fake.Waiters(); running != timers {
					return fmt.Errorf("%d timers run, want %d", running, timers)
				}
				return nil
			})
			fake.Step(test.wait)
			if !test.cut {
				close(proceed)
			}
			answer := <-answers
			if answer.status != test.status || test.cut != (answer.broken != nil || answer.status == http.StatusGatewayTimeout) {
				t.Errorf("%d %q (%v)", answer.status, answer.body, answer.broken)
			}
			if answer.status == http.StatusGatewayTimeout && answer.detail(t) != "The backend sandbox did not answer in time: box" {
				t.Errorf("told %s", answer.body)
			}
		})
	}
}

// A client that stops in the middle of its body keeps nobody waiting.
func TestABodyThatStopsIsNotWaitedFor(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := slow(fake).route(t, http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { _, _ = io.Copy(io.Discard, request.Body) }))
	_, reader := r.dial(t, "POST /upload HTTP/1.1", "Content-Length: 5")
	testkit.Eventually(t, "the exchange to begin", func() error {
		if running := fake.Waiters(); running != 1 {
			return fmt.Errorf("%d timers run, want 1", running)
		}
		return nil
	})
	fake.Step(11 * time.Minute)
	if status, _ := testkit.ReadHead(t, reader); status != http.StatusGatewayTimeout {
		t.Errorf("answered %d", status)
	}
}

func TestAnUpgradedConnectionOutlivesEveryTimeout(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := slow(fake).route(t, http.HandlerFunc(echo))
	connection, reader := r.upgrade(t)
	fake.Step(24 * time.Hour)
	if got, err := says(connection, reader, "still here\n"); err != nil || got != "still here\n" {
		t.Errorf("%v, came back %q", err, got)
	}
}

// A Pod that is gone takes what went to it along: an error, and no wait for an answer that cannot come.
func TestWhatGoesToAPodThatIsGoneEnds(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	s := newSetting(func(s *setting) { s.resolver = &finder{answers: []found{{host: here, life: life}}} })
	waits := make(chan struct{})
	r := s.route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Upgrade") != "" {
			echo(writer, request)
			return
		}
		// A server notices that its client has gone once it has read what the client said.
		_, _ = io.Copy(io.Discard, request.Body)
		close(waits)
		<-request.Context().Done()
	}))
	_, reader := r.upgrade(t)
	answers := make(chan told, 1)
	request := r.request(t, http.MethodPost, "/execute", strings.NewReader("{}"))
	go func() { answers <- r.do(t, request) }()
	<-waits
	end()
	if answer := <-answers; answer.status != http.StatusBadGateway || answer.detail(t) != "The backend sandbox went away: box" {
		t.Errorf("answered %d %s", answer.status, answer.body)
	}
	if line, err := reader.ReadString('\n'); err == nil {
		t.Errorf("the upgraded connection says %q", line)
	}
}

// refuser is an authenticator that refuses, or allows and refuses later.
type refuser struct{ early, late error }

func (r refuser) Authenticate(context.Context, *http.Request, target.Target) (auth.Credential, error) {
	return auth.Credential{Caller: r}, r.early
}

func (refuser) Strip(*http.Request) {}

func (r refuser) May(context.Context, types.NamespacedName) error { return r.late }

func TestWhatAClientIsTold(t *testing.T) {
	failing := func(reason resolve.Reason) func(*setting) {
		return func(s *setting) { s.resolver = &finder{answers: []found{{err: &resolve.Failure{Reason: reason}}}} }
	}
	refusing := func(r refuser) func(*setting) { return func(s *setting) { s.auth = r } }
	for name, test := range map[string]struct {
		edit    func(*setting)
		request func(*http.Request)
		status  int
		detail  string
	}{
		"no ID":                {request: func(r *http.Request) { r.Header.Del(target.HeaderID) }, status: 400, detail: "X-Sandbox-ID header is required."},
		"an ID with dots":      {request: func(r *http.Request) { r.Header.Set(target.HeaderID, "a.b") }, status: 400, detail: "Invalid sandbox ID format."},
		"a bad namespace":      {request: func(r *http.Request) { r.Header.Set(target.HeaderNamespace, "A") }, status: 400, detail: "Invalid namespace format."},
		"a bad port":           {request: func(r *http.Request) { r.Header.Set(target.HeaderPort, "x") }, status: 400, detail: "Invalid port format."},
		"a metadata address":   {request: func(r *http.Request) { r.Header.Set(target.HeaderPodIP, "169.254.169.254") }, status: 400, detail: "Invalid target IP address."},
		"nobody":               {edit: refusing(refuser{early: &auth.Denied{Status: 401, Detail: "Who?"}}), status: 401, detail: "Who?"},
		"somebody who may not": {edit: refusing(refuser{late: &auth.Denied{Status: 403, Detail: "No."}}), status: 403, detail: "No."},
		"somebody who may not know that there is none": {edit: func(s *setting) {
			failing(resolve.Unknown)(s)
			refusing(refuser{late: &auth.Denied{Status: 403, Detail: "No."}})(s)
		}, status: 403, detail: "No."},
		"an API server that does not say who it is": {edit: refusing(refuser{early: errors.New("secret")}), status: 500, detail: "The router could not find out whether you may: try again."},
		"an API server that does not say who may":   {edit: refusing(refuser{late: errors.New("secret")}), status: 500, detail: "The router could not find out whether you may: try again."},
		"no such Sandbox":                           {edit: failing(resolve.Unknown), status: 502, detail: "Could not connect to the backend sandbox: box (there is no such Sandbox)"},
		"a Sandbox of a pool":                       {edit: failing(resolve.Unclaimed), status: 502, detail: "Could not connect to the backend sandbox: box (it waits in a warm pool: claim it first)"},
		"a Pod that is not ready":                   {edit: failing(resolve.NotReady), status: 502, detail: "Could not connect to the backend sandbox: box (it has no Pod that is ready)"},
		"two Pods":                                  {edit: failing(resolve.Several), status: 502, detail: "Could not connect to the backend sandbox: box (more than one Pod claims to be its own)"},
		"an API server that is away":                {edit: failing(resolve.LookupFailed), status: 502, detail: "Could not connect to the backend sandbox: box (the API server could not be asked about it)"},
		"a Pod that does not listen":                {edit: func(s *setting) { s.resolver = at(nowhere) }, status: 502, detail: "Could not connect to the backend sandbox: box"},
		"a name that leads to this machine": {
			edit: func(s *setting) { s.options.Rules.Loopback = target.RefuseLoopback }, status: 502, detail: "Could not connect to the backend sandbox: box",
		},
		"a body that is too large": {edit: func(s *setting) { s.options.Limits.Body = 3 }, status: 413, detail: "The request body is larger than 3 bytes."},
		"such a body without a length": {
			edit: func(s *setting) { s.options.Limits.Body = 3 }, request: func(r *http.Request) { r.ContentLength = -1 }, status: 413, detail: "The request body is larger than 3 bytes.",
		},
		"a body that just fits": {edit: func(s *setting) { s.options.Limits.Body = 4 }, status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			edit := test.edit
			if edit == nil {
				edit = func(*setting) {}
			}
			r := newSetting(edit).route(t, http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
				_, _ = io.Copy(io.Discard, request.Body)
			}))
			request := r.request(t, http.MethodPost, "/", io.NopCloser(strings.NewReader("body")))
			request.ContentLength = 4
			if test.request != nil {
				test.request(request)
			}
			answer := r.do(t, request)
			if answer.status != test.status || answer.status != 200 && answer.detail(t) != test.detail {
				t.Errorf("answered %d %s, want %d %s", answer.status, answer.body, test.status, test.detail)
			}
			if challenge := answer.header.Get("WWW-Authenticate"); (challenge != "") != (test.status == 401) {
				t.Errorf("WWW-Authenticate: %q", challenge)
			}
		})
	}
}

// What keeps the API server from answering is for the log alone.
func TestOperatorsAreToldWhyTheAPIServerDoesNotSay(t *testing.T) {
	cause := errors.New("dial tcp 10.96.0.1:443: no route to host")
	for name, edit := range map[string]func(*setting){
		"where a sandbox is": func(s *setting) {
			s.resolver = &finder{answers: []found{{err: &resolve.Failure{Reason: resolve.LookupFailed, Cause: cause}}}}
		},
		"who a caller is":      func(s *setting) { s.auth = refuser{early: cause} },
		"whether a caller may": func(s *setting) { s.auth = refuser{late: cause} },
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan string, 10)
			logging := func(s *setting) {
				s.log = funcr.New(func(prefix, args string) { lines <- prefix + args }, funcr.Options{})
			}
			r := newSetting(edit, logging).route(t, http.HandlerFunc(echo))
			answer := r.do(t, r.request(t, http.MethodGet, "/", nil))
			if strings.Contains(answer.body, cause.Error()) {
				t.Errorf("the client is told %s", answer.body)
			}
			select {
			case line := <-lines:
				if !strings.Contains(line, cause.Error()) || !strings.Contains(line, `"box"`) {
					t.Errorf("the log says %s", line)
				}
			case <-time.After(10 * time.Second):
				t.Error("the log says nothing")
			}
		})
	}
}

func TestATunnelIsRefused(t *testing.T) {
	r := newSetting().route(t, http.HandlerFunc(echo))
	_, reader := r.dial(t, "CONNECT 10.0.0.1:443 HTTP/1.1")
	if status, _ := testkit.ReadHead(t, reader); status != http.StatusMethodNotAllowed {
		t.Errorf("answered %d", status)
	}
}

func TestACrowdIsToldToComeBack(t *testing.T) {
	s := newSetting(func(s *setting) { s.options.Limits.Requests = 1 })
	r := s.route(t, http.HandlerFunc(echo))
	connection, _ := r.upgrade(t)
	answer := r.do(t, r.request(t, http.MethodGet, "/", nil))
	if answer.status != http.StatusServiceUnavailable || answer.header.Get("Retry-After") == "" {
		t.Errorf("answered %d %s", answer.status, answer.body)
	}
	testkit.Eventually(t, "the refused request to be counted out", func() error {
		if n := testutil.ToFloat64(r.handler.metrics.inflight); n != 1 {
			return fmt.Errorf("%v are under way, want 1", n)
		}
		return nil
	})
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.handler.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := r.do(t, r.request(t, http.MethodGet, "/", nil)); again.status == http.StatusServiceUnavailable {
		t.Errorf("there is room, and it is answered %d %s", again.status, again.body)
	}
}

// No label is for a sandbox, and no client makes up namespaces.
func TestMetricsStayFew(t *testing.T) {
	s := newSetting(func(s *setting) {
		s.resolver = &finder{answers: []found{{host: here}, {err: &resolve.Failure{Reason: resolve.Unknown}}}}
	})
	r := s.route(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r.do(t, r.request(t, http.MethodGet, "/", nil))
	for _, namespace := range []string{"made-up", "made-up-too"} {
		request := r.request(t, "INVENT", "/", nil)
		request.Header.Set(target.HeaderNamespace, namespace)
		r.do(t, request)
	}
	if err := r.handler.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = `
# HELP sandbox_router_requests_total Requests that were answered; code 499: the client had gone.
# TYPE sandbox_router_requests_total counter
sandbox_router_requests_total{code="200",method="GET",sandbox_namespace="default"} 1
sandbox_router_requests_total{code="502",method="other",sandbox_namespace="unknown"} 2
# HELP sandbox_router_upstream_errors_total Requests that a sandbox did not answer, by reason.
# TYPE sandbox_router_upstream_errors_total counter
sandbox_router_upstream_errors_total{reason="unknown_sandbox",sandbox_namespace="unknown"} 2
`
	if err := testutil.GatherAndCompare(r.registry, strings.NewReader(want), "sandbox_router_requests_total", "sandbox_router_upstream_errors_total"); err != nil {
		t.Error(err)
	}
	x := &exchange{}
	for i := range mostNamespaces + 10 {
		x.endpoint.Sandbox.Namespace = fmt.Sprintf("ns-%d", i)
		r.handler.metrics.namespaceOf(x)
	}
	if got := r.handler.metrics.namespaceOf(x); got != elsewhere {
		t.Errorf("namespace %d is told apart as %q", mostNamespaces+10, got)
	}
}
