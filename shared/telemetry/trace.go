package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// Protocols of OTLP, as OTEL_EXPORTER_OTLP_TRACES_PROTOCOL and OTEL_EXPORTER_OTLP_PROTOCOL name them.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// Continue returns ctx within the trace that an annotation carries: a JSON object with the W3C keys traceparent and tracestate.
// Without one, or with one that cannot be read, ctx is returned as it is.
func Continue(ctx context.Context, annotation string) context.Context {
	if annotation == "" {
		return ctx
	}
	carrier := propagation.MapCarrier{}
	if err := json.Unmarshal([]byte(annotation), &carrier); err != nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

// Carry is the inverse of Continue: the annotation that has the trace of ctx go on; empty where ctx is in none.
func Carry(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return ""
	}
	annotation, err := json.Marshal(carrier)
	if err != nil {
		return ""
	}
	return string(annotation)
}

// NewTracerProvider returns a provider that exports by OTLP, as the standard OTEL_ variables say. The caller shuts it down. It
// fails when a variable makes no sense; it does not wait for the collector to be reached.
func NewTracerProvider(ctx context.Context, service, version string) (*sdktrace.TracerProvider, error) {
	if err := checkEndpoints(); err != nil {
		return nil, err
	}
	client, err := otlpClient()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("setting up the OTLP exporter: %w", err)
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing this process to the trace collector (OTEL_RESOURCE_ATTRIBUTES): %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)), nil
}

// checkEndpoints refuses what the exporter would merely log, to export to nowhere from then on.
func checkEndpoints() error {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		endpoint, err := url.Parse(value)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
			return fmt.Errorf("%s=%q: must be a URL, as http://collector:4317", variable, value)
		}
	}
	return nil
}

func otlpClient() (otlptrace.Client, error) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := os.Getenv(variable); protocol {
		case "":
		case protocolGRPC:
			return otlptracegrpc.NewClient(), nil
		case protocolHTTP:
			return otlptracehttp.NewClient(), nil
		default:
			return nil, fmt.Errorf("%s=%q: must be %s or %s", variable, protocol, protocolGRPC, protocolHTTP)
		}
	}
	return otlptracegrpc.NewClient(), nil
}
