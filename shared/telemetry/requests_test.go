package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestWhatIsCarriedIsContinued(t *testing.T) {
	if carried := Carry(context.Background()); carried != "" {
		t.Errorf("without a trace it carries %q", carried)
	}
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "work")
	defer span.End()
	continued := trace.SpanContextFromContext(Continue(context.Background(), Carry(ctx)))
	if want := span.SpanContext(); continued.TraceID() != want.TraceID() || continued.SpanID() != want.SpanID() || !continued.IsRemote() {
		t.Errorf("continued as %+v, want %+v", continued, want)
	}
}

func TestRequestsOfASpanAreSpans(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.Header.Get("Traceparent")) }))
	defer server.Close()
	client := &http.Client{Transport: Requests(provider)(http.DefaultTransport)}
	call := func(ctx context.Context, path string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	call(t.Context(), "/api/v1/namespaces/ns/pods")
	if made := spans.GetSpans(); len(made) > 0 || told[0] != "" {
		t.Errorf("a request of no span made spans %v and told of trace %q", made, told[0])
	}
	ctx, span := provider.Tracer("test").Start(t.Context(), "reconcile")
	call(ctx, "/api/v1/namespaces/ns/pods")
	span.End()
	made := spans.GetSpans()
	if len(made) != 2 || made[0].Name != "POST pods" || made[0].Parent.SpanID() != span.SpanContext().SpanID() {
		t.Errorf("spans %+v", made)
	}
	if !strings.Contains(told[1], span.SpanContext().TraceID().String()) {
		t.Errorf("the API server is told of trace %q", told[1])
	}
}

func TestResource(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/ns/pods":                                     "pods",
		"/api/v1/namespaces/ns/pods/a":                                   "pods",
		"/apis/agents.x-k8s.io/v1beta1/namespaces/ns/sandboxes/a/status": "sandboxes/status",
		"/api/v1/namespaces/ns":                                          "/api/v1/namespaces/ns",
		"/apis/authentication.k8s.io/v1/tokenreviews":                    "/apis/authentication.k8s.io/v1/tokenreviews",
	} {
		if got := Resource(path); got != want {
			t.Errorf("Resource(%s) = %s, want %s", path, got, want)
		}
	}
}
