package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"sigs.k8s.io/agent-sandbox/shared/telemetry"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// tracingShutdown bounds the wait for the last spans to be taken.
const tracingShutdown = 5 * time.Second

// tracing follows what a process does; what it is made of does nothing unless tracing is enabled.
type tracing struct {
	tracer trace.Tracer
	// requests wraps the transports to the API server.
	requests func(http.RoundTripper) http.RoundTripper
	// end sends what is left.
	end func()
}

func newTracing(ctx context.Context, program Program, log logr.Logger) (tracing, error) {
	if !program.Options.Tracing {
		return tracing{
			tracer:   noop.NewTracerProvider().Tracer(program.Name),
			requests: func(next http.RoundTripper) http.RoundTripper { return next },
			end:      func() {},
		}, nil
	}
	provider, err := telemetry.NewTracerProvider(ctx, program.Name, version.Get().GitVersion)
	if err != nil {
		return tracing{}, fmt.Errorf("--enable-tracing: %w", err)
	}
	return tracing{
		tracer: provider.Tracer(program.Name), requests: telemetry.Requests(provider), end: func() { EndTracing(ctx, provider, log) },
	}, nil
}

// EndTracing shuts a provider down and sends the spans that are left, though ctx has ended by then.
func EndTracing(ctx context.Context, provider *sdktrace.TracerProvider, log logr.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracingShutdown)
	defer cancel()
	if err := provider.Shutdown(ctx); err != nil {
		log.Error(err, "The last spans are lost: the trace collector does not take them")
	}
}
