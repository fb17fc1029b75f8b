package telemetry

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Requests wraps the transports of a client of the API server: each request that is made within a span is a span of its own, named
// after what it does, as "POST pods", and tells the API server of the trace. Other requests, lists and watches of informers among them,
// are left alone.
func Requests(provider trace.TracerProvider) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(next,
			otelhttp.WithTracerProvider(provider),
			otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsValid() }),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + Resource(r.URL.Path) }),
		)
	}
}

// Resource finds "pods" or "sandboxes/status" in the path of a request, /apis/<group>/<version>/namespaces/<namespace>/<resource>/<name>/
// <subresource>. Other paths are returned as they are.
func Resource(path string) string {
	_, after, found := strings.Cut(path, "/namespaces/")
	parts := strings.Split(after, "/")
	switch {
	case !found || len(parts) < 2:
		return path
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	default:
		return parts[1]
	}
}
