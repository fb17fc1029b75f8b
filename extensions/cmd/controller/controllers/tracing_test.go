package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

const (
	clientsTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientsHeader = `{"traceparent":"00-` + clientsTrace + `-00f067aa0ba902b7-01"}`
)

// The trace of a claim is that of its client, or begins with the claim, and its Sandbox carries it, taken or started.
func TestTheTraceGoesFromAClaimToItsSandbox(t *testing.T) {
	w := newWorld(t)
	spans := tracetest.NewInMemoryExporter()
	settings := testSettings()
	settings.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	w.startControllers(settings)
	w.template("agent")
	w.filled(w.pool("pool", 4))
	w.pool("none", 0)
	for _, pool := range []string{"pool", "none"} {
		for name, annotation := range map[string]string{"own": "", "clients": clientsHeader} {
			t.Run(pool+" "+name, func(t *testing.T) {
				claim := w.claim(pool+"-"+name, func(c *extensionsv1beta1.SandboxClaim) {
					c.Spec.WarmPoolRef.Name = pool
					if annotation != "" {
						c.Annotations = map[string]string{sandboxv1beta1.AnnotationTraceContext: annotation}
					}
				})
				box := w.bound(claim)
				trace := traceOf(t, spans, claim.Name)
				if annotation != "" && trace != clientsTrace {
					t.Errorf("the claim was served in trace %q", trace)
				}
				if told := claim.Annotations[sandboxv1beta1.AnnotationTraceContext]; !strings.Contains(told, trace) {
					t.Errorf("the claim carries %q, not trace %s", told, trace)
				}
				if told := box.Annotations[sandboxv1beta1.AnnotationTraceContext]; !strings.Contains(told, trace) {
					t.Errorf("the Sandbox carries %q, not trace %s", told, trace)
				}
			})
		}
	}
}

// traceOf waits for the end of a reconcile of the claim of that name, and returns the trace of the first.
func traceOf(t *testing.T, spans *tracetest.InMemoryExporter, claim string) string {
	t.Helper()
	var trace string
	testkit.Eventually(t, "a reconcile of claim "+claim+" has ended", func() error {
		for _, span := range spans.GetSpans() {
			if slices.Contains(span.Attributes, attribute.String("sandboxclaim.name", claim)) {
				trace = span.SpanContext.TraceID().String()
				return nil
			}
		}
		return errors.New("there is no span of one")
	})
	return trace
}

// A client's trace reaches the Sandbox though this controller exports none; where there is no trace, nothing is written of it.
func TestWithoutTracingTheClientsTraceGoesOn(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	w.filled(w.pool("pool", 2))
	traced := w.bound(w.claim("traced", func(c *extensionsv1beta1.SandboxClaim) {
		c.Annotations = map[string]string{sandboxv1beta1.AnnotationTraceContext: clientsHeader}
	}))
	if told := traced.Annotations[sandboxv1beta1.AnnotationTraceContext]; told != clientsHeader {
		t.Errorf("the Sandbox carries %q", told)
	}
	claim := w.claim("untraced")
	box := w.bound(claim)
	if claim.Annotations[sandboxv1beta1.AnnotationTraceContext]+box.Annotations[sandboxv1beta1.AnnotationTraceContext] != "" {
		t.Errorf("claim %v, Sandbox %v", claim.Annotations, box.Annotations)
	}
}
