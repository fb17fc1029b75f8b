package integration_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// traces is an OTLP endpoint that keeps the names of the spans it is sent, by trace and service.
type traces struct {
	mu    sync.Mutex
	spans map[string][]string
}

// ServeHTTP takes an export.
func (s *traces) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	var export collector.ExportTraceServiceRequest
	body, err := io.ReadAll(request.Body)
	if err = errors.Join(err, proto.Unmarshal(body, &export)); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range export.ResourceSpans {
		service := ""
		for _, attribute := range of.Resource.Attributes {
			if attribute.Key == "service.name" {
				service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				trace := hex.EncodeToString(span.TraceId)
				s.spans[trace] = append(s.spans[trace], service+": "+span.Name)
			}
		}
	}
}

// lacks names a span that a trace does not have; nil when it has all.
func (s *traces) lacks(trace string, wanted []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range wanted {
		if !slices.Contains(s.spans[trace], want) {
			return fmt.Errorf("trace %s has no %q: %q", trace, want, s.spans[trace])
		}
	}
	return nil
}

// From the claim to the Pod all is one trace, which the claim names: through two controllers, for a warm Sandbox and a cold one.
func TestATraceGoesFromTheClaimToThePod(t *testing.T) {
	sink := &traces{spans: map[string][]string{}}
	server := httptest.NewServer(sink)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
	testkit.StartKubelet(t, apiServer.Config)
	startController(t, "--enable-tracing")
	startExtensions(t, "--enable-tracing")
	pool := newPool(t, 1)
	fixture.Must(t, user, pool, await.Members(1))
	none := fixture.Pool(fixture.Template(pool.Namespace, pool.Spec.SandboxTemplateRef.Name), "none", 0)
	fixture.Create(t, user, none)
	cases := map[string]struct {
		claim client.Object
		spans []string
	}{
		"warm": {fixture.Claim(pool, "warm"), []string{"agent-sandbox-extensions-controller: PATCH sandboxes", "agent-sandbox-controller: PATCH pods"}},
		"cold": {fixture.Claim(none, "cold"), []string{"agent-sandbox-extensions-controller: POST sandboxes", "agent-sandbox-controller: POST pods"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := fixture.Claim(pool, tc.claim.GetName())
			fixture.Create(t, user, tc.claim)
			told := fixture.Must(t, user, claim, await.Served()).Annotations[sandboxv1beta1.AnnotationTraceContext]
			parts := strings.Split(told, "-")
			if len(parts) != 4 {
				t.Fatalf("the claim carries the trace %q", told)
			}
			wanted := slices.Concat(tc.spans, []string{
				"agent-sandbox-extensions-controller: reconcile SandboxClaim", "agent-sandbox-extensions-controller: PATCH sandboxclaims/status",
				"agent-sandbox-controller: reconcile Sandbox"})
			testkit.Eventually(t, "the spans arrive", func() error { return sink.lacks(parts[1], wanted) })
		})
	}
}
