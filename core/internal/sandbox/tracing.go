package sandbox

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

// startSpan begins the span of a reconcile, within the trace of whoever made the Sandbox, where it says so.
func (r *Reconciler) startSpan(ctx context.Context, sandbox *sandboxv1beta1.Sandbox) (context.Context, trace.Span) {
	ctx = telemetry.Continue(ctx, sandbox.Annotations[sandboxv1beta1.AnnotationTraceContext])
	return r.tracer.Start(ctx, "reconcile Sandbox", trace.WithAttributes(
		attribute.String("k8s.namespace.name", sandbox.Namespace),
		attribute.String("sandbox.name", sandbox.Name),
		attribute.String("sandbox.uid", string(sandbox.UID)),
		attribute.Int64("sandbox.generation", sandbox.Generation),
	))
}

// tell notes in the span what went wrong with the children.
func tell(span trace.Span, d done) {
	for _, err := range d.errors {
		span.RecordError(err)
		span.SetStatus(codes.Error, "children are not as the spec says")
	}
}
