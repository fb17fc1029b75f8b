package sandbox

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// start begins the span of an operation. finish ends it.
func (s *Sandbox) start(ctx context.Context, operation string, more ...attribute.KeyValue) (context.Context, trace.Span) {
	key := s.key()
	attributes := slices.Concat(more, []attribute.KeyValue{
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("sandbox.claim.name", key.ClaimName),
		attribute.String("sandbox.name", s.SandboxName()),
	})
	return s.client.tracer.Start(ctx, "sandbox."+operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

// finish ends a span. What an error says may come out of the sandbox, so the span is told no more than that there was one.
func finish(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "failed")
	}
	span.End()
}

// executable is all that a trace learns of a command: arguments hold secrets.
func executable(command string) attribute.KeyValue {
	words, err := shellquote.Split(command)
	if err != nil || len(words) == 0 {
		return program("")
	}
	return program(words[0])
}

// program is the base name of one. What sets a variable is none, and may be a secret.
func program(name string) attribute.KeyValue {
	base := path.Base(name)
	if name == "" || strings.Contains(name, "=") {
		base = ""
	}
	return attribute.String("process.executable.name", base)
}
