package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reconcile begins the span of a reconcile of an object of that kind, within the trace that the object's annotation of that key
// carries. The caller ends it.
func Reconcile(ctx context.Context, tracer trace.Tracer, kind string, object metav1.Object, annotation string) (context.Context, trace.Span) {
	ctx = Continue(ctx, object.GetAnnotations()[annotation])
	prefix := strings.ToLower(kind)
	return tracer.Start(ctx, "reconcile "+kind, trace.WithAttributes(
		attribute.String("k8s.namespace.name", object.GetNamespace()),
		attribute.String(prefix+".name", object.GetName()),
		attribute.String(prefix+".uid", string(object.GetUID())),
		attribute.Int64(prefix+".generation", object.GetGeneration()),
	))
}

// Failed notes in a span what went wrong, if anything did; summary says in a few words what is therefore not so.
func Failed(span trace.Span, summary string, errs []error) {
	for _, err := range errs {
		span.RecordError(err)
		span.SetStatus(codes.Error, summary)
	}
}
