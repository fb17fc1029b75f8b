package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
)

// A connection that cannot be made is tried again, where the sandbox is by then, and nothing of the body is lost: none of it is read
// before there is a connection.
func TestAConnectionIsTriedAgain(t *testing.T) {
	var calls atomic.Int32
	where := at(nowhere, nowhere, here)
	r := newSetting(func(s *setting) { s.resolver = where }).route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		calls.Add(1)
		if all, err := io.ReadAll(request.Body); err == nil {
			_, _ = writer.Write(all)
		}
	}))
	body := strings.Repeat("all of it ", 100_000)
	request := r.request(t, http.MethodPost, "/execute", io.NopCloser(strings.NewReader(body)))
	answer := r.do(t, request)
	if answer.status != http.StatusOK || answer.body != body {
		t.Errorf("answered %d with %d bytes, want %d", answer.status, len(answer.body), len(body))
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the sandbox was called %d times", n)
	}
	if n := testutil.ToFloat64(r.handler.metrics.retries.WithLabelValues("default")); n != 2 {
		t.Errorf("%v retries are counted, want 2", n)
	}
	if len(where.evicted) != 0 {
		t.Errorf("%v was evicted for a refused connection", where.evicted)
	}
}

// What may have reached the sandbox is not sent twice.
func TestARequestThatWasSentIsNotSentAgain(t *testing.T) {
	var calls atomic.Int32
	r := newSetting().route(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, request.Body)
		if connection, _, err := http.NewResponseController(writer).Hijack(); err == nil {
			_ = connection.Close()
		}
	}))
	answer := r.do(t, r.request(t, http.MethodPost, "/execute", strings.NewReader("once")))
	if detail := answer.detail(t); answer.status != http.StatusBadGateway || detail != "The connection to the backend sandbox broke: box" {
		t.Errorf("answered %d %q", answer.status, detail)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the sandbox was called %d times", n)
	}
}

// failing is a transport whose connections fail, of which it may have read the body.
type failing struct {
	with  error
	reads bool
	tries int
}

func (f *failing) RoundTrip(request *http.Request) (*http.Response, error) {
	f.tries++
	if f.reads {
		_, _ = request.Body.Read(make([]byte, 1))
	}
	// As every transport does.
	_ = request.Body.Close()
	return nil, f.with
}

func dialError(cause error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: cause}
}

// A9.9: any number of retries ends. Evictions: a host that is unreachable is, a Pod that refuses is not.
func TestWhichFailuresAreTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		with    error
		reads   bool
		most    int
		answers []found
		tries   int
		evicted int
	}{
		"twenty retries":                     {with: dialError(syscall.ECONNREFUSED), most: 20, tries: 21},
		"none":                               {with: dialError(syscall.ECONNREFUSED), tries: 1},
		"a host that is unreachable":         {with: dialError(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), most: 2, tries: 3, evicted: 3},
		"a network that is unreachable":      {with: dialError(syscall.ENETUNREACH), tries: 1, evicted: 1},
		"a host that does not answer":        {with: dialError(os.ErrDeadlineExceeded), tries: 1, evicted: 1},
		"a name that is not known":           {with: dialError(&net.DNSError{IsNotFound: true}), most: 3, tries: 4},
		"a connection that broke":            {with: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, most: 3, tries: 1},
		"an answer that makes no sense":      {with: errors.New("malformed HTTP response"), most: 3, tries: 1},
		"an address that no Pod has":         {with: dialError(errNoPod), most: 3, tries: 1},
		"a body of which something was read": {with: dialError(syscall.ECONNREFUSED), reads: true, most: 3, tries: 1},
		"a sandbox that is gone meanwhile": {
			with: dialError(syscall.ECONNREFUSED), most: 3, tries: 1, answers: []found{{err: &resolve.Failure{Reason: resolve.NotReady}}},
		},
		"a request that leads to another sandbox by now": {with: dialError(syscall.ECONNREFUSED), most: 3, tries: 1, answers: []found{{sandbox: "other", host: here}}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := test.answers
			if answers == nil {
				answers = at(here).answers
			}
			where := &finder{answers: answers}
			broken := &failing{with: test.with, reads: test.reads}
			s := newSetting(func(s *setting) { s.resolver, s.options.Retries.Most = where, test.most })
			r := s.route(t, http.NotFoundHandler())
			r.handler.transport.plain = broken
			x := &exchange{}
			x.wanted.Sandbox.Name, x.wanted.Sandbox.Namespace, x.wanted.Port = "box", "default", 80
			x.endpoint, _ = at(here).Resolve(t.Context(), x.wanted)
			request := r.request(t, http.MethodPost, "/", strings.NewReader("body"))
			_, err := r.handler.transport.RoundTrip(request.WithContext(x.begin(request, s.options, s.clock, func() {}))) //nolint:bodyclose // There is no answer.
			x.end()
			if err == nil {
				t.Fatal("no error")
			}
			if broken.tries != test.tries || len(where.evicted) != test.evicted {
				t.Errorf("%d tries, want %d; %d evictions, want %d: %v", broken.tries, test.tries, len(where.evicted), test.evicted, err)
			}
		})
	}
}

func TestAClientThatLeavesEndsTheRetries(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	s := newSetting(func(s *setting) { s.options.Retries = Retries{Most: 20, First: time.Hour, Longest: time.Hour} })
	r := s.route(t, http.NotFoundHandler())
	r.handler.transport.plain = leaver{leave}
	x := &exchange{}
	x.endpoint, _ = at(here).Resolve(t.Context(), x.wanted)
	request := r.request(t, http.MethodPost, "/", strings.NewReader("body")).WithContext(ctx)
	_, err := r.handler.transport.RoundTrip(request.WithContext(x.begin(request, s.options, s.clock, func() {}))) //nolint:bodyclose // There is no answer.
	x.end()
	if told := answerFor(context.Cause(ctx), "box"); told.status != statusClientGone {
		t.Errorf("%v, and the status is %d", err, told.status)
	}
}

// leaver fails, and its client leaves.
type leaver struct{ leave func() }

func (l leaver) RoundTrip(*http.Request) (*http.Response, error) {
	l.leave()
	return nil, dialError(syscall.ECONNREFUSED)
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	r := Retries{Most: 20, First: 200 * time.Millisecond, Longest: 800 * time.Millisecond}
	var got []time.Duration
	for retry := range 5 {
		got = append(got, r.pause(retry))
	}
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 800 * time.Millisecond, 800 * time.Millisecond}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("pauses (-want +got):\n%s", difference)
	}
	if longest := r.pause(1 << 20); longest != r.Longest {
		t.Errorf("after very many: %s", longest)
	}
}

// A9.10: how many connections are kept is a setting.
func TestConnectionsAreKeptAsTheFlagsSay(t *testing.T) {
	o := newSetting().options
	o.Idle = Idle{All: 5, PerSandbox: 2, Timeout: time.Second}
	made := dialing(o)
	got := Idle{made.MaxIdleConns, made.MaxIdleConnsPerHost, made.IdleConnTimeout}
	if difference := cmp.Diff(o.Idle, got); difference != "" {
		t.Errorf("kept (-want +got):\n%s", difference)
	}
}

// A6.4: whatever a name leads to, this machine and its link are out of reach.
func TestNothingButAPodIsDialled(t *testing.T) {
	for address, want := range map[string]bool{
		"10.0.0.7:80": true, "[fd00::7]:80": true, "127.0.0.1:80": false, "[::1]:80": false, "169.254.169.254:80": false, "no address": false,
	} {
		err := onlyPods(0)("tcp", address, nil)
		if got := err == nil; got != want || !want && !errors.Is(err, errNoPod) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
