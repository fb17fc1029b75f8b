package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// ErrStopped is the cause with which whoever serves cancels what is under way when it has to stop.
var ErrStopped = errors.New("the router stops")

// errUndecided says that nobody could tell who a caller is, or what the caller may.
var errUndecided = errors.New("asking whether the caller may")

// refusal is the router's own, whatever sandbox a request is for.
type refusal struct {
	status int
	detail string
}

// Error is the detail.
func (r *refusal) Error() string { return r.detail }

func crowded() error {
	return &refusal{http.StatusServiceUnavailable, "The router has as many requests as it takes: try again in a moment."}
}

func noTunnel() error {
	return &refusal{http.StatusMethodNotAllowed, "Method CONNECT is not supported: upgrades, as of WebSockets, are."}
}

// statusClientGone is for the log and the metrics alone: nobody is there to be told.
const statusClientGone = 499

// answer is what a client is told in place of one of its sandbox.
type answer struct {
	status int
	detail string
	// reason is why the sandbox had none, for the metrics; empty where it was not asked.
	reason string
}

// Reasons for which a sandbox had no answer, beside those of package resolve.
const (
	reasonDial    = "dial"
	reasonTimeout = "timeout"
	reasonGone    = "pod_gone"
	reasonBroken  = "broken"
)

// answerFor decides what a client is told of an error.
func answerFor(err error, id string) answer {
	if malformed, ok := errors.AsType[*target.Malformed](err); ok {
		return answer{status: http.StatusBadRequest, detail: malformed.Detail}
	}
	if denied, ok := errors.AsType[*auth.Denied](err); ok {
		return answer{status: denied.Status, detail: denied.Detail}
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		return answer{status: refused.status, detail: refused.detail}
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return answer{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("The request body is larger than %d bytes.", large.Limit)}
	}
	unconnected := "Could not connect to the backend sandbox: " + id
	if failure, ok := errors.AsType[*resolve.Failure](err); ok {
		return answer{http.StatusBadGateway, fmt.Sprintf("%s (%s)", unconnected, failure), string(failure.Reason)}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return answer{status: statusClientGone}
	case errors.Is(err, errUndecided):
		return answer{status: http.StatusInternalServerError, detail: "The router could not find out whether you may: try again."}
	case errors.Is(err, errTimeout):
		return answer{http.StatusGatewayTimeout, "The backend sandbox did not answer in time: " + id, reasonTimeout}
	case errors.Is(err, errPodGone):
		return answer{http.StatusBadGateway, "The backend sandbox went away: " + id, reasonGone}
	case errors.Is(err, ErrStopped):
		return answer{status: http.StatusServiceUnavailable, detail: "The router stops: try again."}
	case isDialFailure(err):
		return answer{http.StatusBadGateway, unconnected, reasonDial}
	default:
		return answer{http.StatusBadGateway, "The connection to the backend sandbox broke: " + id, reasonBroken}
	}
}

// tell writes the answer for an error. To a client that has gone it ends the connection, by a panic as net/http has it.
func (h *Handler) tell(out *recorder, x *exchange, err error) {
	x.fault = err
	told := answerFor(err, x.wanted.Sandbox.Name)
	if told.reason != "" {
		h.metrics.failed(x, told.reason)
	}
	switch told.status {
	case http.StatusUnauthorized:
		out.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		out.Header().Set("Retry-After", "1")
	case statusClientGone:
		out.status = statusClientGone
		// Whoever listens all the same is not to take silence for an answer: the server would make 200 of it.
		panic(http.ErrAbortHandler) //nolint:forbidigo // It is how a handler of net/http ends a connection.
	}
	if out.deaf.Load() {
		out.Header().Set("Connection", "close")
	}
	writeDetail(out, told.status, told.detail)
}

func writeDetail(out http.ResponseWriter, status int, detail string) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	// A client that has gone cannot be told.
	_ = json.NewEncoder(out).Encode(map[string]string{"detail": detail})
}

// recorder notes what is answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	// deaf says that the connection reads nothing any more.
	deaf atomic.Bool
}

// hangUp ends a connection that reads nothing any more, unless whoever asked knows already that it ends: a further request on it would be
// lost. What was answered leaves before.
func (r *recorder) hangUp() {
	if !r.deaf.Load() || r.Header().Get("Connection") == "close" {
		return
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush()
	panic(http.ErrAbortHandler) //nolint:forbidigo // It is how a handler of net/http ends a connection.
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find what the recorder lacks.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// unsaid returns why the API server did not answer, where that kept a sandbox from it; else nil. Clients are not told.
func unsaid(fault error) error {
	if errors.Is(fault, errUndecided) {
		return fault
	}
	if failure, ok := errors.AsType[*resolve.Failure](fault); ok {
		return failure.Cause
	}
	return nil
}

// note counts an exchange that has ended, and logs it where that is wanted.
func (h *Handler) note(out *recorder, request *http.Request, x *exchange, took time.Duration) {
	if out.status == 0 && x.upgraded() {
		out.status = http.StatusSwitchingProtocols
	}
	h.metrics.ended(request.Method, out.status, x, took)
	if cause := unsaid(x.fault); cause != nil {
		h.log.Error(cause, "The API server did not say what a request depends on", "sandbox", x.wanted.Sandbox)
	}
	if !h.options.AccessLog {
		return
	}
	values := []any{
		"method", request.Method, "path", request.URL.EscapedPath(), "code", out.status, "bytes", out.bytes, "seconds", took.Seconds(),
		"sandbox", x.wanted.Sandbox, "to", x.endpoint.Host, "from", request.RemoteAddr, "requestID", request.Header.Get("X-Request-ID"),
	}
	if x.fault != nil {
		values = append(values, "error", x.fault.Error())
	}
	// Queries stay out of it: they may hold secrets.
	h.log.Info("Request", values...)
}
