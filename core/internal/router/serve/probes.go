package serve

import (
	"encoding/json"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

// Paths of the probes.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// Probes say whether the router lives, and whether it is ready for requests.
type Probes struct {
	rules target.Rules
	// isReady says whether it knows the sandboxes.
	isReady  func() bool
	draining atomic.Bool
}

// NewProbes returns Probes that are ready when isReady says so, until the router ends.
func NewProbes(rules target.Rules, isReady func() bool) *Probes {
	return &Probes{rules: rules, isReady: isReady}
}

func (p *Probes) drain() { p.draining.Store(true) }

// ServeHTTP answers a probe.
func (p *Probes) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	switch {
	case !isProbe(request):
		http.NotFound(writer, request)
	case request.URL.Path == healthPath:
		writeStatus(writer, http.StatusOK, "ok")
	case p.draining.Load():
		writeStatus(writer, http.StatusServiceUnavailable, "the router stops")
	case !p.isReady():
		writeStatus(writer, http.StatusServiceUnavailable, "the Pods of sandboxes are not known yet")
	default:
		writeStatus(writer, http.StatusOK, "ok")
	}
}

// Beside answers probes where requests to sandboxes come in: those that name no sandbox, since a sandbox may have such a path itself.
func (p *Probes) Beside(proxied http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if isProbe(request) && !p.rules.Names(request) {
			p.ServeHTTP(writer, request)
			return
		}
		proxied.ServeHTTP(writer, request)
	})
}

func isProbe(request *http.Request) bool {
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	return reads && (request.URL.Path == healthPath || request.URL.Path == readyPath)
}

func writeStatus(writer http.ResponseWriter, code int, status string) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(code)
	// A probe that has gone cannot be told.
	_ = json.NewEncoder(writer).Encode(map[string]string{"status": status})
}
