package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

func TestRequestsNameTheSandboxAndNotTheClaim(t *testing.T) {
	for name, test := range map[string]struct {
		modify func(*sandbox.Options)
		podIP  string
	}{
		"by its Pod's address, too": {func(*sandbox.Options) {}, podIP},
		"by its name alone":         {func(o *sandbox.Options) { o.DisablePodIPRouting = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, g := newCluster(t), newGuest(t)
			token := func(o *sandbox.Options) {
				o.RouterToken = func(context.Context) (string, error) { return "secret", nil }
			}
			sb := mustCreate(t, newClient(t, c, g, test.modify, token), sandbox.WithClaimName("mine"))
			if _, err := sb.Run(t.Context(), "true"); err != nil {
				t.Fatal(err)
			}
			headers := g.requests()[0].Header
			got := map[string]string{}
			for _, key := range []string{"X-Sandbox-ID", "X-Sandbox-Namespace", "X-Sandbox-Port", "X-Sandbox-Pod-IP", "Authorization"} {
				got[key] = headers.Get(key)
			}
			want := map[string]string{
				"X-Sandbox-ID": member("mine"), "X-Sandbox-Namespace": team, "X-Sandbox-Port": "8888", "X-Sandbox-Pod-IP": test.podIP,
				"Authorization": "Bearer secret",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(headers.Get("X-Request-ID")) != 32 {
				t.Errorf("X-Request-ID %q", headers.Get("X-Request-ID"))
			}
		})
	}
}

func TestTheDeadlineIsCarried(t *testing.T) {
	for name, test := range map[string]struct {
		limit   time.Duration
		options []sandbox.CallOption
		want    float64
	}{
		"that of the options":                    {0, nil, 180},
		"that of the call":                       {0, []sandbox.CallOption{sandbox.WithTimeout(10 * time.Minute)}, 600},
		"that of the caller, where it is nearer": {90 * time.Second, nil, 90},
	} {
		t.Run(name, func(t *testing.T) {
			c, g := newCluster(t), newGuest(t)
			client, clock := newClient(t, c, g), clocktesting.NewFakePassiveClock(time.Now())
			client.SetClock(clock)
			sb := mustCreate(t, client)
			// A clock that stands still: what passes until the call would be told, too.
			now := time.Now()
			clock.SetTime(now)
			ctx := t.Context()
			if test.limit > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithDeadline(ctx, now.Add(test.limit))
				defer stop()
			}
			if _, err := sb.Run(ctx, "true", test.options...); err != nil {
				t.Fatal(err)
			}
			got, err := strconv.ParseFloat(g.requests()[0].Header.Get("X-Sandbox-Timeout"), 64)
			const passed = 20 // seconds, from when the clock stopped
			if err != nil || got < test.want || got > test.want+passed {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
	t.Run("a stream without a deadline tells routers a day", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		sb := mustCreate(t, newClient(t, c, g))
		if err := sb.Files().WriteFrom(t.Context(), "a", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if got := g.requests()[0].Header.Get("X-Sandbox-Timeout"); got != "86400" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFileNamesAreEscaped(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	for name, want := range map[string]string{
		"..": "/download/%2E%2E", ".": "/download/%2E", "a/../b": "/download/a/%2E%2E/b", "a b?c#d%e": "/download/a%20b%3Fc%23d%25e",
		"...": "/download/...", "/top": "/download/top", "ü": "/download/%C3%BC",
	} {
		t.Run("a file named "+name, func(t *testing.T) {
			g.do(nil)
			var answered *sandbox.HTTPError
			if _, err := sb.Read(t.Context(), name); !errors.As(err, &answered) || answered.StatusCode != http.StatusNotFound {
				t.Errorf("got %v, want a 404", err)
			}
			if got := g.requests()[0].RequestURI; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`} {
		t.Run("the older runtime writes no file named "+name, func(t *testing.T) {
			if err := sb.Write(t.Context(), name, nil); !errors.Is(err, sandbox.ErrUnsupportedByRuntime) {
				t.Errorf("got %v, want %v", err, sandbox.ErrUnsupportedByRuntime)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	c, g, elsewhere := newCluster(t), newGuest(t), newGuest(t)
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		return true
	}
	sb := mustCreate(t, newClient(t, c, g))
	for name, call := range map[string]func() error{
		"a command": func() error { _, err := sb.Run(t.Context(), "true"); return err },
		"a read":    func() error { _, err := sb.Read(t.Context(), "a"); return err },
		"a write":   func() error { return sb.Write(t.Context(), "a", nil) },
		"a listing": func() error { _, err := sb.List(t.Context(), "."); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var answered *sandbox.HTTPError
			if err := call(); !errors.As(err, &answered) || answered.StatusCode != http.StatusFound || answered.Location != elsewhere.URL {
				t.Errorf("got %v, want the redirect", err)
			}
		})
	}
	if asked := elsewhere.requests(); len(asked) > 0 {
		t.Errorf("followed to %d requests", len(asked))
	}
}

func TestWhatIsAttemptedAgain(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	run := func(options ...sandbox.CallOption) error {
		_, err := sb.Run(t.Context(), "true", options...)
		return err
	}
	write := func(options ...sandbox.CallOption) error {
		return sb.Write(t.Context(), "a", []byte("content"), options...)
	}
	for name, test := range map[string]struct {
		status, failures int
		call             func(...sandbox.CallOption) error
		options          []sandbox.CallOption
		attempts         int
		err              error
	}{
		"a file, where the answer may pass":          {http.StatusServiceUnavailable, 2, write, nil, 3, nil},
		"a file, as often as is allowed":             {http.StatusBadGateway, 9, write, []sandbox.CallOption{sandbox.WithMaxAttempts(2)}, 2, sandbox.ErrRetriesExhausted},
		"no file, where the answer stays":            {http.StatusForbidden, 1, write, nil, 1, &sandbox.HTTPError{}},
		"no command, since it may have run":          {http.StatusServiceUnavailable, 1, run, nil, 1, &sandbox.HTTPError{}},
		"a command, where the caller says it can be": {http.StatusGatewayTimeout, 1, run, []sandbox.CallOption{sandbox.WithMaxAttempts(2)}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			failures := 0
			g.do(func(w http.ResponseWriter, _ *http.Request) bool {
				failures++
				if failures <= test.failures {
					w.WriteHeader(test.status)
				}
				return failures <= test.failures
			})
			err := test.call(test.options...)
			var answered *sandbox.HTTPError
			switch {
			case test.err == nil && err != nil, errors.Is(test.err, sandbox.ErrRetriesExhausted) && !errors.Is(err, sandbox.ErrRetriesExhausted):
				t.Errorf("got %v, want %v", err, test.err)
			case test.err != nil && (!errors.As(err, &answered) || answered.StatusCode != test.status):
				t.Errorf("got %v, want status %d", err, test.status)
			}
			ids := map[string]bool{}
			for _, request := range g.requests() {
				ids[request.Header.Get("X-Request-ID")] = true
			}
			if got := len(g.requests()); got != test.attempts || len(ids) != 1 {
				t.Errorf("%d attempts under %d ids, want %d under one", got, len(ids), test.attempts)
			}
		})
	}
}

// A reader that is half read cannot be sent again, though nothing arrived.
func TestAStreamIsSentOnce(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	g.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"detail": "Could not connect to the backend sandbox: box"}`) // the status says enough
		return true
	}
	sb := mustCreate(t, newClient(t, c, g))
	err := sb.Files().WriteFrom(t.Context(), "a", strings.NewReader("x"), sandbox.WithMaxAttempts(3))
	var answered *sandbox.HTTPError
	if !errors.As(err, &answered) || answered.StatusCode != http.StatusBadGateway || len(g.requests()) != 1 {
		t.Errorf("%d attempts, %v", len(g.requests()), err)
	}
}

// The Pod was replaced: the router finds the new one, and the command runs once.
func TestAnAddressThatLeadsNowhereIsLeftToTheRouter(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Sandbox-Pod-IP") == "" {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"detail": "Could not connect to the backend sandbox: box"}`)
		return true
	}
	sb := mustCreate(t, newClient(t, c, g))
	for range 2 {
		if _, err := sb.Run(t.Context(), "true"); err != nil {
			t.Error(err)
		}
	}
	if got := len(g.requests()); got != 3 {
		t.Errorf("%d requests, want one that leads nowhere and two that arrive", got)
	}
}

func TestAnswersThatAreTooLargeAreRefused(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g, func(o *sandbox.Options) { o.MaxDownloadSize, o.MaxUploadSize = 10, 10 }))
	size := 0
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		_, _ = w.Write(bytes.Repeat([]byte(" "), size)) // the client may have enough
		return true
	}
	for name, test := range map[string]struct {
		size int
		call func() error
	}{
		"a command's output, which says how long it is": {16<<20 + 1, func() error { _, err := sb.Run(t.Context(), "true"); return err }},
		"a listing": {8<<20 + 1, func() error { _, err := sb.List(t.Context(), "."); return err }},
		"a file":    {11, func() error { _, err := sb.Read(t.Context(), "a"); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			size = test.size
			if err := test.call(); !errors.Is(err, sandbox.ErrResponseTooLarge) {
				t.Errorf("got %v, want %v", err, sandbox.ErrResponseTooLarge)
			}
		})
	}
	if err := sb.Write(t.Context(), "a", make([]byte, 11)); err == nil || !strings.Contains(err.Error(), "MaxUploadSize") {
		t.Errorf("got %v, want an error that names MaxUploadSize", err)
	}
}

func TestACallThatTakesTooLongSaysSo(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	g.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client go
		<-r.Context().Done()
		return true
	}
	if _, err := sb.Run(t.Context(), "true", sandbox.WithTimeout(50*time.Millisecond)); !errors.Is(err, sandbox.ErrTimeout) {
		t.Errorf("got %v, want %v", err, sandbox.ErrTimeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sb.Run(ctx, "true"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	for name, option := range map[string]sandbox.CallOption{"WithTimeout": sandbox.WithTimeout(0), "WithMaxAttempts": sandbox.WithMaxAttempts(0)} {
		if _, err := sb.Run(t.Context(), "true", option); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
	}
}

// endless gives as many bytes as it is asked for, and none is kept.
type endless struct{ left int64 }

// Read implements io.Reader.
func (e *endless) Read(into []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(into)), e.left)
	e.left -= n
	return int(n), nil
}

func TestStreamsAreNotHeldInMemory(t *testing.T) {
	const size = 200 << 20
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	var uploaded int64
	g.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			uploaded, _ = io.Copy(io.Discard, r.Body) // what is missing fails the test
			return true
		}
		_, _ = io.Copy(w, &endless{size}) // likewise
		return true
	}
	peak := heapWhile(t, func() {
		if err := sb.Files().WriteFrom(t.Context(), "big", &endless{size}); err != nil {
			t.Error(err)
		}
		content, err := sb.Files().Open(t.Context(), "big")
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = content.Close() }()
		if read, err := io.Copy(io.Discard, content); read != size || err != nil {
			t.Errorf("read %d bytes, %v", read, err)
		}
	})
	if uploaded < size {
		t.Errorf("%d bytes arrived, want %d and a form around them", uploaded, size)
	}
	const most = 32 << 20
	if peak > most {
		t.Errorf("the heap grew by %d bytes, want %d at most", peak, most)
	}
}
