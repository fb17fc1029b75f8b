package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestTracesCarryTheProgramAlone(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g, func(o *sandbox.Options) {
		o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	}))
	for command, want := range map[string]string{
		"/usr/bin/curl -H 'token: s3cret' http://s3cret": "curl",
		`sh -c "echo s3cret"`:                            "sh",
		"TOKEN=s3cret env":                               "",
		`"unbalanced s3cret`:                             "",
		"":                                               "",
	} {
		t.Run("of "+command, func(t *testing.T) {
			spans.Reset()
			g.do(func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "s3cret", http.StatusForbidden)
				return true
			})
			if _, err := sb.Run(t.Context(), command); err == nil {
				t.Error("the command did not fail")
			}
			recorded := spans.GetSpans()
			if len(recorded) != 1 {
				t.Fatalf("%d spans", len(recorded))
			}
			if text := fmt.Sprintf("%+v", recorded[0]); strings.Contains(text, "s3cret") {
				t.Error("the secret is in the span:", text)
			}
			got := map[string]string{}
			for _, attribute := range recorded[0].Attributes {
				got[string(attribute.Key)] = attribute.Value.AsString()
			}
			all := map[string]string{
				"process.executable.name": want, "k8s.namespace.name": team, "sandbox.claim.name": sb.ClaimName(), "sandbox.name": sb.SandboxName(),
			}
			if diff := cmp.Diff(all, got); diff != "" {
				t.Error(diff)
			}
			traceID := recorded[0].SpanContext.TraceID().String()
			if parent := g.requests()[0].Header.Get("Traceparent"); !strings.Contains(parent, traceID) {
				t.Errorf("Traceparent %q, want trace %s", parent, traceID)
			}
		})
	}
	var claim extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", sb.ClaimName(), &claim)
	if carried := claim.Annotations[sandboxv1beta1.AnnotationTraceContext]; !strings.Contains(carried, "traceparent") {
		t.Errorf("the claim carries %q", carried)
	}
}
