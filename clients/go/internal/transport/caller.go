package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/pause"
)

// errNoHeaders ends an attempt that takes too long.
var errNoHeaders = errors.New("no answer within the time of an attempt")

// Caller sends requests to one sandbox. It is safe for concurrent use.
type Caller struct {
	client *http.Client
	route  *Route
}

// Backoff is what lies between attempts: from 200 ms on, doubling, for 3 s at most.
func Backoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 3 * time.Second}
}

// NewCaller returns a Caller that goes that way over that transport.
func NewCaller(transport http.RoundTripper, route *Route) *Caller {
	// Redirects would lead out of the sandbox, as whatever runs in there likes.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Caller{client: &http.Client{Transport: transport, CheckRedirect: stay}, route: route}
}

// Call is one request, and how often it may be sent.
type Call struct {
	Method string
	// Port of the sandbox's Pod.
	Port int
	// Path is escaped already.
	Path   string
	Query  url.Values
	Header http.Header
	Body   Body
	Attempts
}

// Body is that of a request. The zero value is none.
type Body struct {
	// Open makes it anew for each attempt, with its length in bytes, or -1 where that is not known.
	Open func() (io.Reader, int64)
	// Once says that it cannot be made anew, so that there is one attempt, whatever is allowed.
	Once bool
}

// Attempts say how often a request may be sent.
type Attempts struct {
	// Max is how often at most.
	Max int
	// Timeout bounds how long each of several attempts may take until the answer's headers are there; 0 means no bound.
	Timeout time.Duration
}

// Do returns the first success, whose body the caller closes: the request may go on until then. The errors are HTTPError for an answer
// that is none, ErrRetriesExhausted beside the last failure after several attempts, and the cause of the context's end.
func (c *Caller) Do(ctx context.Context, call Call) (*http.Response, error) {
	backoff := Backoff()
	if call.Body.Once {
		call.Max = 1
	}
	requestID := NewRequestID()
	for attempt := 1; ; attempt++ {
		answer, err := c.attempt(ctx, call, requestID)
		var answered *HTTPError
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s %s: %w", call.Method, call.Path, context.Cause(ctx))
		case errors.As(err, &answered) && answered.neverArrived() && c.route.LeaveToRouter() && !call.Body.Once:
			attempt-- // the router has the next one to itself
			continue
		case answered != nil && !answered.passing():
			return nil, fmt.Errorf("%s %s: %w", call.Method, call.Path, err)
		case attempt >= call.Max:
			return nil, exhausted(call, err)
		}
		if err := pause.For(ctx, backoff.Step()); err != nil {
			return nil, fmt.Errorf("%s %s: %w", call.Method, call.Path, err)
		}
	}
}

// Ask sends a request whose answer is JSON of at most limit bytes, and reads it into what into points to. A larger one is
// guest.ErrTooLarge.
func (c *Caller) Ask(ctx context.Context, call Call, limit int64, into any) error {
	answer, err := c.Do(ctx, call) //nolint:bodyclose // Decode does.
	if err != nil {
		return err
	}
	return Decode(ctx, call, answer, limit, into)
}

// Decode reads the answer of a call as JSON, of which there may be limit bytes, and closes it.
func Decode(ctx context.Context, call Call, answer *http.Response, limit int64, into any) error {
	defer func() { _ = answer.Body.Close() }()
	tooLarge := guest.TooLarge("the answer to "+call.Method+" "+call.Path, limit)
	if answer.ContentLength > limit {
		return tooLarge
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: reading the answer: %w", call.Method, call.Path, cause(ctx, err))
	case int64(len(content)) > limit:
		return tooLarge
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s %s: reading the answer: %w", call.Method, call.Path, err)
	}
	return nil
}

// cause is why an error came about, where the context's end was it.
func cause(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return err
}

func exhausted(call Call, last error) error {
	if call.Max <= 1 {
		return fmt.Errorf("%s %s: %w", call.Method, call.Path, last)
	}
	return fmt.Errorf("%s %s: %w (%d): %w", call.Method, call.Path, ErrRetriesExhausted, call.Max, last)
}

// attempt sends the request once.
func (c *Caller) attempt(ctx context.Context, call Call, requestID string) (*http.Response, error) {
	ctx, end := context.WithCancelCause(ctx)
	if call.Max > 1 && call.Timeout > 0 {
		timer := time.AfterFunc(call.Timeout, func() { end(errNoHeaders) })
		defer timer.Stop()
	}
	answer, err := c.send(ctx, call, requestID)
	if err != nil {
		err = cause(ctx, err)
		end(nil)
		return nil, err
	}
	answer.Body = &body{ReadCloser: answer.Body, end: end}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, failure(answer)
	}
	return answer, nil
}

func (c *Caller) send(ctx context.Context, call Call, requestID string) (*http.Response, error) {
	headers, err := c.route.Headers(ctx, call.Port, requestID)
	if err != nil {
		return nil, err
	}
	var content io.Reader = http.NoBody
	var length int64
	if call.Body.Open != nil {
		content, length = call.Body.Open()
	}
	target := c.route.Base(call.Port)
	request, err := http.NewRequestWithContext(ctx, call.Method, target.String(), content)
	if err != nil {
		return nil, err
	}
	if request.URL, err = joined(target, call); err != nil {
		return nil, err
	}
	request.ContentLength = length
	for key, values := range call.Header {
		request.Header[key] = values
	}
	for key, values := range headers {
		request.Header[key] = values
	}
	return c.client.Do(request)
}

// joined appends the path as it is: url.URL.JoinPath would resolve what a file is named, as "..".
func joined(base *url.URL, call Call) (*url.URL, error) {
	target := *base
	target.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + call.Path
	path, err := url.PathUnescape(target.RawPath)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", call.Path, err)
	}
	target.Path, target.RawQuery = path, call.Query.Encode()
	return &target, nil
}

// EscapePath escapes a file's path so that nothing on the way takes it for another: "." and ".." are names like any other to a URL only
// when they are escaped. Slashes stay, and those in front go, since every path starts at the root of the runtime.
func EscapePath(path string) string {
	parts := strings.Split(strings.TrimLeft(path, "/"), "/")
	for i, part := range parts {
		switch part {
		case ".", "..":
			parts[i] = strings.ReplaceAll(part, ".", "%2E")
		default:
			parts[i] = url.PathEscape(part)
		}
	}
	return strings.Join(parts, "/")
}

// body ends its request when it is closed.
type body struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}
