package transport

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"k8s.io/utils/clock"
)

// Headers that routers and daemons read.
const (
	// HeaderID names the Sandbox.
	HeaderID = "X-Sandbox-ID"
	// HeaderNamespace is the Sandbox's.
	HeaderNamespace = "X-Sandbox-Namespace"
	// HeaderPort is the port of its Pod.
	HeaderPort = "X-Sandbox-Port"
	// HeaderPodIP is the address of its Pod.
	HeaderPodIP = "X-Sandbox-Pod-IP"
	// HeaderTimeout is how long the caller still waits, in whole seconds, rounded up.
	HeaderTimeout = "X-Sandbox-Timeout"
	// HeaderRequestID is the same in all attempts of one call.
	HeaderRequestID = "X-Request-ID"
)

// Route is the way to one sandbox. It is safe for concurrent use.
type Route struct {
	// Base is where requests for a port of the sandbox's Pod go.
	Base func(port int) *url.URL
	// Router says whom a router is to reach; nil where there is no router on the way.
	Router *Destination
	// Clock tells the time that is left.
	Clock clock.PassiveClock
	// misleads is set once the router could not reach the sandbox at the address of its Pod.
	misleads atomic.Bool
}

// Destination is what a router needs to know of a sandbox.
type Destination struct {
	// Name and Namespace are the Sandbox's, never the claim's.
	Name, Namespace string
	// PodIP spares the router a look-up; empty leaves it to the router.
	PodIP string
	// Token authenticates with the router; nil where it asks for none. It never reaches the sandbox, since routers strip it.
	Token func(context.Context) (string, error)
}

// NewRequestID returns an identifier for the attempts of one call.
func NewRequestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// Headers returns what a request for a port carries beside what it is about.
func (r *Route) Headers(ctx context.Context, port int, requestID string) (http.Header, error) {
	headers := http.Header{}
	headers.Set(HeaderRequestID, requestID)
	if deadline, limited := ctx.Deadline(); limited {
		left := max(deadline.Sub(r.Clock.Now()), 0)
		headers.Set(HeaderTimeout, strconv.FormatInt(int64((left+time.Second-1)/time.Second), 10))
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(headers))
	if r.Router == nil {
		return headers, nil
	}
	headers.Set(HeaderID, r.Router.Name)
	headers.Set(HeaderNamespace, r.Router.Namespace)
	headers.Set(HeaderPort, strconv.Itoa(port))
	if r.hasPodIP() {
		headers.Set(HeaderPodIP, r.Router.PodIP)
	}
	if r.Router.Token != nil {
		token, err := r.Router.Token(ctx)
		if err != nil {
			return nil, fmt.Errorf("getting the router's token: %w", err)
		}
		headers.Set("Authorization", "Bearer "+token)
	}
	return headers, nil
}

func (r *Route) hasPodIP() bool {
	return r.Router != nil && r.Router.PodIP != "" && !r.misleads.Load()
}

// leaveToRouter drops the Pod's address, as one that leads nowhere any more. It is false if there was none to drop.
func (r *Route) leaveToRouter() bool {
	return r.hasPodIP() && r.misleads.CompareAndSwap(false, true)
}
