package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"

	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
)

const (
	// headTimeout bounds the wait for the header of a request, and idleTimeout for the next request on a connection.
	headTimeout = 10 * time.Second
	idleTimeout = 120 * time.Second
	// parting is for how long answers to those whom the end of the router cuts off are on their way.
	parting = time.Second
)

// Proxy is what carries requests to sandboxes.
type Proxy interface {
	http.Handler
	// Idle waits until no request is under way; its error is that of ctx.
	Idle(ctx context.Context) error
}

// Options are what is listened on. A listener that is nil is none.
type Options struct {
	// Plain takes requests without TLS, Secure with it.
	Plain, Secure net.Listener
	TLS           *tls.Config
	// Health answers probes; Metrics serves Watch, what operators look at.
	Health, Metrics net.Listener
	Watch           http.Handler
	// MaxConnections is how many clients are connected at a time, on each of Plain and Secure; further ones wait. 0: any number.
	MaxConnections int
	// ShutdownTimeout is for how long requests under way are waited for.
	ShutdownTimeout time.Duration
	Log             logr.Logger
}

// server is one with its listener.
type server struct {
	*http.Server
	listener net.Listener
}

// Run serves until ctx ends, and then until nothing is under way, for ShutdownTimeout at most. Meanwhile no new connection is taken, and
// the probe of readiness says so. It fails when something can no longer be listened on.
func Run(ctx context.Context, o Options, proxied Proxy, probes *Probes) error {
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	front := o.front(base, probes.Beside(proxied))
	back := o.back(probes)
	failed := make(chan error, len(front)+len(back))
	var running sync.WaitGroup
	for _, each := range append(front, back...) {
		running.Go(func() { failed <- each.serve() })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	probes.drain()
	o.drain(ctx, front, proxied, cut)
	for _, each := range append(front, back...) {
		_ = each.Close() // which leaves nothing to wait for
	}
	running.Wait()
	return err
}

// front are the servers of sandboxes' clients. What they take on outlives the signal to stop.
func (o Options) front(base context.Context, handler http.Handler) []server {
	var all []server
	for _, listener := range []net.Listener{o.Plain, o.Secure} {
		if listener == nil {
			continue
		}
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		s := o.server(listener, handler)
		s.BaseContext = func(net.Listener) context.Context { return base }
		if listener == o.Secure {
			protocols.SetHTTP2(true)
			s.TLSConfig = o.TLS
		} else {
			protocols.SetUnencryptedHTTP2(true)
		}
		s.Protocols = protocols
		if o.MaxConnections > 0 {
			s.listener = netutil.LimitListener(listener, o.MaxConnections)
		}
		all = append(all, s)
	}
	return all
}

// back are the servers of those who run the router.
func (o Options) back(probes *Probes) []server {
	var all []server
	if o.Health != nil {
		all = append(all, o.server(o.Health, probes))
	}
	if o.Metrics != nil {
		all = append(all, o.server(o.Metrics, o.Watch))
	}
	return all
}

func (o Options) server(listener net.Listener, handler http.Handler) server {
	return server{&http.Server{
		Handler: handler, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout, ErrorLog: log.New(quietLog{o.Log}, "", 0),
	}, listener}
}

func (s server) serve() error {
	serve := s.Serve
	if s.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
	}
	if err := serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// drain waits for what is under way. What takes too long is cut, with an answer where one can still be given.
func (o Options) drain(ctx context.Context, front []server, proxied Proxy, cut context.CancelCauseFunc) {
	ctx = context.WithoutCancel(ctx)
	if settle(ctx, o.ShutdownTimeout, front, proxied) {
		return
	}
	o.Log.Info("Requests are cut off that took longer than --shutdown-timeout", "timeout", o.ShutdownTimeout.String())
	cut(proxy.ErrStopped)
	settle(ctx, parting, front, proxied)
}

// settle takes no new connection, and waits until no request is under way and every answer is written, for timeout at most. It tells
// whether requests came to their end in that time.
func settle(ctx context.Context, timeout time.Duration, front []server, proxied Proxy) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var closing sync.WaitGroup
	for _, each := range front {
		closing.Go(func() { _ = each.Shutdown(ctx) }) // It knows when an answer has left, Idle knows of upgraded connections too.
	}
	err := proxied.Idle(ctx)
	closing.Wait()
	return err == nil
}

// quietLog takes what the library complains of: mostly handshakes that failed, which is the clients' business.
type quietLog struct {
	log logr.Logger
}

var _ io.Writer = quietLog{}

// Write implements io.Writer.
func (q quietLog) Write(line []byte) (int, error) {
	q.log.V(1).Info("Serving", "complaint", string(line))
	return len(line), nil
}
