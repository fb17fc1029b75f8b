package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
)

// Handler carries requests to sandboxes.
type Handler struct {
	options       Options
	resolver      Resolver
	authenticator Authenticator
	metrics       *Metrics
	clock         clock.WithDelayedExecution
	log           logr.Logger
	crowd         *crowd
	transport     *transport
	proxy         *httputil.ReverseProxy
}

// New returns a Handler. Close lets its connections go.
func New(options Options, resolver Resolver, authenticator Authenticator, metrics *Metrics, c clock.WithDelayedExecution, logger logr.Logger) *Handler {
	h := &Handler{
		options: options, resolver: resolver, authenticator: authenticator, metrics: metrics, clock: c, log: logger,
		crowd: newCrowd(options.Limits.Requests), transport: newTransport(options, resolver, metrics, c),
	}
	h.proxy = &httputil.ReverseProxy{
		Rewrite: h.rewrite, Transport: h.transport, ModifyResponse: h.answered, ErrorHandler: h.failed,
		BufferPool: &buffers{}, ErrorLog: log.New(quietLog{logger}, "", 0),
	}
	return h
}

// Idle waits until no request is under way, upgraded ones included; its error is that of ctx.
func (h *Handler) Idle(ctx context.Context) error { return h.crowd.idle(ctx) }

// Close closes the connections that no request uses.
func (h *Handler) Close() { h.transport.closeIdle() }

// ServeHTTP carries a request.
func (h *Handler) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	began := h.clock.Now()
	out := &recorder{ResponseWriter: writer}
	x := &exchange{}
	admitted := h.crowd.enter()
	h.metrics.inflight.Inc()
	// Deferred, since a broken answer ends with a panic that the server takes for what it is.
	defer func() {
		x.end()
		h.note(out, request, x, h.clock.Since(began))
		h.metrics.inflight.Dec()
		h.crowd.leave()
	}()
	err := crowded()
	if admitted {
		err = h.admit(out, request, x)
	}
	if err != nil {
		h.tell(out, x, err)
		return
	}
	// A sandbox may answer while it is still told something; by default the rest of that would be thrown away. HTTP/2 does so by itself.
	_ = http.NewResponseController(out).EnableFullDuplex()
	ctx := x.begin(request, h.options, h.clock, func() { stopReading(out, request) })
	h.proxy.ServeHTTP(out, request.WithContext(ctx))
	x.end()
	out.hangUp()
}

// stopReading ends the wait for a body that its client does not send: nothing else would end it. A stream of HTTP/2 alone ends by that, a
// connection of HTTP/1 has read its last request.
func stopReading(out *recorder, request *http.Request) {
	if request.ContentLength == 0 {
		return
	}
	out.deaf.Store(request.ProtoMajor == 1)
	// A connection that has no deadlines has gone.
	_ = http.NewResponseController(out).SetReadDeadline(time.Unix(1, 0))
}

// admit finds the sandbox of a request, and refuses it where it has none or its caller may not.
func (h *Handler) admit(out *recorder, request *http.Request, x *exchange) (err error) {
	if request.Method == http.MethodConnect {
		return noTunnel()
	}
	if x.wanted, err = h.options.Rules.Read(request); err != nil {
		return err
	}
	if err := h.authorize(out, request, x); err != nil {
		return err
	}
	return limitBody(out, request, h.options.Limits.Body)
}

// authorize asks who the caller is before the sandbox is looked for, so that strangers cost nothing, and whether the caller may speak to
// it once it is known which one it is.
func (h *Handler) authorize(out *recorder, request *http.Request, x *exchange) error {
	ctx := request.Context()
	known, err := h.authenticator.Authenticate(ctx, request, x.wanted)
	if err != nil {
		return h.decided(x, err)
	}
	if x.endpoint, err = h.resolver.Resolve(ctx, x.wanted); err != nil {
		return h.unresolved(ctx, known.Caller, x, err)
	}
	if err := h.decided(x, known.Caller.May(ctx, x.endpoint.Sandbox)); err != nil {
		return err
	}
	if known.Cookie != nil {
		http.SetCookie(out, known.Cookie)
	}
	return nil
}

// unresolved keeps from who may not speak to a Sandbox whether there is one of the name, and how it does.
func (h *Handler) unresolved(ctx context.Context, caller auth.Caller, x *exchange, failure error) error {
	if failed, ok := errors.AsType[*resolve.Failure](failure); !ok || failed.Reason == resolve.LookupFailed {
		return failure
	}
	if denied, ok := errors.AsType[*auth.Denied](caller.May(ctx, x.wanted.Sandbox)); ok {
		return h.decided(x, denied)
	}
	return failure
}

// decided counts a decision, and tells apart what is none.
func (h *Handler) decided(x *exchange, err error) error {
	h.metrics.decided(x, err)
	if _, refused := errors.AsType[*auth.Denied](err); err != nil && !refused {
		return fmt.Errorf("%w: %w", errUndecided, err)
	}
	return err
}

func limitBody(out *recorder, request *http.Request, most int64) error {
	if most <= 0 {
		return nil
	}
	if request.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	request.Body = http.MaxBytesReader(out.ResponseWriter, request.Body, most)
	return nil
}

// failed is called when a request that was let in has no answer.
func (h *Handler) failed(writer http.ResponseWriter, request *http.Request, err error) {
	x := exchangeOf(request.Context())
	out, ok := writer.(*recorder)
	if !ok {
		return
	}
	if cause := context.Cause(request.Context()); cause != nil {
		err = cause
		<-x.interrupted
	}
	h.tell(out, x, err)
}

// buffers are what answers are copied through.
type buffers struct {
	pool sync.Pool
}

const bufferSize = 32 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// quietLog takes what the library complains of: mostly clients that went away.
type quietLog struct {
	log logr.Logger
}

var _ io.Writer = quietLog{}

// Write implements io.Writer.
func (q quietLog) Write(line []byte) (int, error) {
	q.log.V(1).Info("Proxying", "complaint", string(line))
	return len(line), nil
}
