package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
)

// serve returns a Caller to a server that answers so, below a path of its own.
func serve(t *testing.T, answer http.HandlerFunc) *transport.Caller {
	t.Helper()
	server := httptest.NewServer(answer)
	carrier := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/below/")
	if err != nil {
		t.Fatal(err)
	}
	return transport.NewCaller(carrier, &transport.Route{Base: func(int) *url.URL { return base }, Clock: clock.RealClock{}})
}

func TestAPathIsSentAsItIs(t *testing.T) {
	var asked string
	caller := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked = r.RequestURI })
	query := url.Values{"a b": {"c&d"}}
	answer, err := caller.Do(t.Context(), transport.Call{Method: http.MethodGet, Path: "/files/" + transport.EscapePath("//a/../b c/"), Query: query})
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if want := "/below/files/a/%2E%2E/b%20c/?a+b=c%26d"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}

func TestAnAttemptThatTakesTooLongIsGivenUp(t *testing.T) {
	var attempts atomic.Int32
	caller := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) == 1 {
			<-r.Context().Done()
		}
	})
	// More than two, since a machine that has much to do may be too slow for the second.
	many := transport.Attempts{Max: 50, Timeout: 100 * time.Millisecond}
	answer, err := caller.Do(t.Context(), transport.Call{Method: http.MethodGet, Path: "/", Attempts: many})
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || attempts.Load() < 2 {
		t.Errorf("%d attempts, %v", attempts.Load(), err)
	}
}

// The time of an attempt ends with the headers: a body may take as long as it likes.
func TestABodyMayTakeLongerThanAnAttempt(t *testing.T) {
	proceed := make(chan struct{})
	caller := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush() // the client sees whether it came
		<-proceed
		_, _ = io.WriteString(w, "late") // likewise
	})
	const limit = 200 * time.Millisecond
	answer, err := caller.Do(t.Context(), transport.Call{Method: http.MethodGet, Path: "/", Attempts: transport.Attempts{Max: 50, Timeout: limit}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	time.AfterFunc(2*limit, func() { close(proceed) })
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "late" {
		t.Errorf("read %q, %v", body, err)
	}
}

func TestWhatAnErrorSays(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want string
	}{
		"of the router":            {`{"detail": "Invalid port format."}`, "HTTP 400 Bad Request: Invalid port format."},
		"of the daemon":            {`{"code": "CONFLICT", "message": "it is not empty"}`, "HTTP 400 Bad Request: CONFLICT: it is not empty"},
		"of the older runtime":     {`{"message": "no such file"}`, "HTTP 400 Bad Request: no such file"},
		"of something in between":  {"<html>\n<body>", "HTTP 400 Bad Request: <html>"},
		"of something that is mum": {"", "HTTP 400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			caller := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, test.body) // what is missing fails the test
			})
			var answered *transport.HTTPError
			err := caller.Ask(t.Context(), transport.Call{Method: http.MethodGet, Path: "/"}, 1, nil)
			if !errors.As(err, &answered) || answered.Error() != test.want || answered.Body != test.body {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	caller := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel(enough)
	})
	response, err := caller.Do(ctx, transport.Call{Method: http.MethodGet, Path: "/", Attempts: transport.Attempts{Max: 9}})
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want %v", err, enough)
	}
	if err := caller.Ask(t.Context(), transport.Call{Method: http.MethodGet, Path: "%zz"}, 1, nil); err == nil || !strings.Contains(err.Error(), "%zz") {
		t.Errorf("got %v, want an error that names the path", err)
	}
}
