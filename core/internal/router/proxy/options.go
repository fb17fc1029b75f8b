package proxy

import (
	"context"
	"net/http"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// Resolver finds sandboxes.
type Resolver interface {
	// Resolve returns where a sandbox is. The error is a *resolve.Failure, or that of ctx.
	Resolve(ctx context.Context, wanted target.Target) (resolve.Endpoint, error)
	// Evict has an endpoint passed over whose host is unreachable. It says whether that was news.
	Evict(unreachable resolve.Endpoint) bool
}

// Authenticator knows who sends a request.
type Authenticator interface {
	// Authenticate returns the caller. The error is an *auth.Denied, or says why nobody can tell.
	Authenticate(ctx context.Context, request *http.Request, wanted target.Target) (auth.Credential, error)
	// Strip takes out of a request what a sandbox must not learn.
	Strip(out *http.Request)
}

// Options say how requests are carried.
type Options struct {
	Rules target.Rules
	// RewriteResponses has redirects and cookies of a sandbox stay below the path that names it.
	RewriteResponses bool
	// Timeout bounds a whole exchange, unless it is upgraded or its answer streams; 0: none.
	Timeout time.Duration
	// HeaderTimeout bounds the wait for the beginning of the answer, from when the request was sent; 0: none.
	HeaderTimeout time.Duration
	// ConnectTimeout bounds each try to connect; above 0.
	ConnectTimeout time.Duration
	Retries        Retries
	Limits         Limits
	// Idle says which connections to sandboxes are kept for the next request.
	Idle Idle
	// AccessLog logs each request.
	AccessLog bool
}

// Retries say how often a connection that cannot be made is tried again. Nothing else is.
type Retries struct {
	// Most of them; 0: none.
	Most int
	// First is the pause before the first; it doubles up to Longest.
	First, Longest time.Duration
}

// pause is the one before a retry, counted from 0.
func (r Retries) pause(retry int) time.Duration {
	pause := r.First
	for range retry {
		if pause >= r.Longest {
			break
		}
		pause *= 2
	}
	return min(pause, r.Longest)
}

// Limits keep a router alive.
type Limits struct {
	// Body is how many bytes a request has at most; 0: any number.
	Body int64
	// Requests is how many there are at a time, upgraded ones included; 0: any number.
	Requests int
}

// Idle bounds the connections to sandboxes that wait for a request.
type Idle struct {
	// All of them, and those to one sandbox; 0: any number of all, and two to one.
	All, PerSandbox int
	// Timeout is for how long one waits; 0: for ever.
	Timeout time.Duration
}
