package telemetry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestContinue(t *testing.T) {
	const valid = `{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"a=b"}`
	cases := map[string]struct {
		annotation, trace string
	}{
		"an annotation of the W3C's keys": {valid, "4bf92f3577b34da6a3ce929d0e0e4736"},
		"none":                            {"", ""},
		"one that is no JSON":             {"00-4bf9", ""},
		"one that is no object of texts":  {`{"traceparent":7}`, ""},
		"one that is no trace":            {`{"traceparent":"00-xyz"}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			span := trace.SpanContextFromContext(Continue(context.Background(), tc.annotation))
			if got := span.TraceID().String(); span.IsValid() != (tc.trace != "") || span.IsValid() && got != tc.trace {
				t.Errorf("trace %q", got)
			}
		})
	}
}

// The spans arrive at a real OTLP endpoint, where the standard variables say it is.
func TestSpansAreExportedByTheStandardVariables(t *testing.T) {
	received := make(chan *collector.ExportTraceServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		var export collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &export); err != nil {
			t.Error(err)
		}
		received <- &export
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocolHTTP)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")

	provider, err := NewTracerProvider(t.Context(), "test-controller", "v1")
	if err != nil {
		t.Fatal(err)
	}
	_, span := provider.Tracer("test").Start(t.Context(), "work")
	span.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	export := <-received
	text := export.String()
	for _, want := range []string{"work", "test-controller", "deployment.environment.name"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

func TestTracingThatCannotBeSetUpFails(t *testing.T) {
	cases := map[string]struct{ variable, value, want string }{
		"an unknown protocol":       {"OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon", `OTEL_EXPORTER_OTLP_PROTOCOL="carrier-pigeon": must be grpc or http/protobuf`},
		"an endpoint that is none":  {"OTEL_EXPORTER_OTLP_ENDPOINT", "::bad", `OTEL_EXPORTER_OTLP_ENDPOINT="::bad": must be a URL, as http://collector:4317`},
		"an endpoint without a URL": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317", `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="collector:4317": must be a URL, as http://collector:4317`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tc.variable, tc.value)
			if _, err := NewTracerProvider(context.Background(), "controller", "v1"); err == nil || err.Error() != tc.want {
				t.Errorf("error %v", err)
			}
		})
	}
}
