package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// Of connections to sandboxes, so that one whose host is lost is noticed.
const (
	probeAfter = 15 * time.Second
	probeEvery = 5 * time.Second
	probes     = 3
)

// longestHead is how many bytes the header of an answer has at most.
const longestHead = 1 << 20

// errNoPod says that an address is none that a Pod can have, whoever named it.
var errNoPod = errors.New("no Pod can have this address")

// transport sends requests, and tries again where there was no connection.
type transport struct {
	// plain speaks HTTP/1.1; framed HTTP/2 without TLS, which gRPC needs.
	plain, framed http.RoundTripper
	resolver      Resolver
	retries       Retries
	metrics       *Metrics
	clock         clock.Clock
}

func newTransport(o Options, resolver Resolver, metrics *Metrics, c clock.Clock) *transport {
	framed := dialing(o)
	framed.Protocols = new(http.Protocols)
	framed.Protocols.SetUnencryptedHTTP2(true)
	return &transport{plain: dialing(o), framed: framed, resolver: resolver, retries: o.Retries, metrics: metrics, clock: c}
}

// dialing returns a transport that goes straight to sandboxes and changes nothing of what they say.
func dialing(o Options) *http.Transport {
	dialer := &net.Dialer{
		Timeout:         o.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes},
		Control:         onlyPods(o.Rules.Loopback),
	}
	return &http.Transport{
		DialContext: dialer.DialContext, DisableCompression: true, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: longestHead,
		MaxIdleConns: o.Idle.All, MaxIdleConnsPerHost: o.Idle.PerSandbox, IdleConnTimeout: o.Idle.Timeout,
	}
}

// onlyPods looks at the address that is about to be dialled: a DNS name may lead anywhere.
func onlyPods(loopback target.Loopback) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !target.CanBePod(to.Addr(), loopback) {
			return fmt.Errorf("%s: %w", address, errNoPod)
		}
		return nil
	}
}

// closeIdle closes connections that wait for a request.
func (t *transport) closeIdle() {
	for _, each := range []http.RoundTripper{t.plain, t.framed} {
		if closer, ok := each.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		}
	}
}

// RoundTrip sends a request to where its exchange goes. Only what failed before anything was sent is tried again, and each time where the
// sandbox is by then.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	x := exchangeOf(request.Context())
	body := &heldBody{from: request.Body}
	for retry := 0; ; retry++ {
		x.watch(x.endpoint)
		response, err := t.over(request).RoundTrip(attempt(request, x, body))
		if err == nil || !isDialFailure(err) || request.Context().Err() != nil {
			return response, err
		}
		if isUnreachable(err) && t.resolver.Evict(x.endpoint) {
			t.metrics.evicted(x)
		}
		if retry >= t.retries.Most || body.touched.Load() || errors.Is(err, errNoPod) {
			return nil, err
		}
		if err := t.again(request.Context(), x, retry); err != nil {
			return nil, err
		}
	}
}

// again waits, and finds the sandbox anew. It must still be the one that the caller may speak to.
func (t *transport) again(ctx context.Context, x *exchange, retry int) error {
	timer := t.clock.NewTimer(t.retries.pause(retry))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
	}
	endpoint, err := t.resolver.Resolve(ctx, x.wanted)
	if err != nil {
		return err
	}
	if endpoint.Sandbox != x.endpoint.Sandbox {
		return fmt.Errorf("the request leads to Sandbox %s by now, and led to %s: %w", endpoint.Sandbox, x.endpoint.Sandbox, errPodGone)
	}
	x.endpoint = endpoint
	t.metrics.retried(x)
	return nil
}

// over chooses the protocol: gRPC needs HTTP/2, and everything else is what the oldest server understands.
func (t *transport) over(request *http.Request) http.RoundTripper {
	if request.ProtoMajor > 1 && isGRPC(request.Header.Get("Content-Type")) {
		return t.framed
	}
	return t.plain
}

// isGRPC says whether a content type is that of gRPC, of which gRPC-Web is none: it is made for HTTP/1.1.
func isGRPC(contentType string) bool {
	rest, found := strings.CutPrefix(contentType, "application/grpc")
	return found && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// attempt is the request for one try.
func attempt(request *http.Request, x *exchange, body *heldBody) *http.Request {
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { x.sent() }}
	out := request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	to := *request.URL
	to.Host = net.JoinHostPort(x.endpoint.Host, strconv.Itoa(int(x.wanted.Port)))
	out.URL = &to
	if body.from != nil {
		out.Body = body
	}
	return out
}

// heldBody is a body that a failed try does not close, and that knows whether anything was read of it.
type heldBody struct {
	from    io.Reader
	touched atomic.Bool
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) {
	h.touched.Store(true)
	return h.from.Read(p)
}

// Close leaves the body to whoever made it.
func (*heldBody) Close() error { return nil }

// isDialFailure says whether there never was a connection.
func isDialFailure(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// isUnreachable says whether nothing answers at the address, as opposed to a Pod that is there and listens at no such port.
func isUnreachable(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTDOWN)
}
