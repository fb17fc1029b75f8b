package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// highThroughput is the block of the published guide.
func highThroughput() []string {
	return strings.Fields(`--leader-elect=true --extensions=true --separate-watch-connection=true --api-connections=4
		--sandbox-warm-pool-max-refill-rate=100 --sandbox-warm-pool-max-batch-size=200
		--sandbox-warm-pool-concurrent-workers=4 --disable-sandbox-events=true
		--disable-claim-events=true --disable-claim-observability-annotations=true`)
}

func TestThePublishedBlockOfFlagsStartsTheController(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	controller, book := startController(t, append(highThroughput(), "--sandbox-concurrent-workers=1200", "--cache-label-selectors",
		"--sandbox-write-behind-window=100ms")...)
	namespace := testkit.Namespace(t, user)
	box := fixture.Sandbox(namespace, "box", fixture.WithService)
	fixture.Create(t, user, box)
	fixture.Must(t, user, box, await.Ready())
	stopController(t, controller)
	checkLog(t, book)

	checkSaidOnce(t, book, `"flag":"extensions","usage":"The extensions run as the Deployment agent-sandbox-extensions-controller`,
		`"flag":"sandbox-warm-pool-max-refill-rate"`, `"flag":"disable-claim-events"`,
		"--sandbox-concurrent-workers=1200: more than 1000 workers")
	if strings.Contains(book.String(), `"flag":"api-connections"`) {
		t.Error("a flag that has an effect is said to have none")
	}
}

func checkSaidOnce(t *testing.T, book *logBook, texts ...string) {
	t.Helper()
	log := book.String()
	for _, text := range texts {
		if strings.Count(log, text) != 1 {
			t.Errorf("the log says %d times %s", strings.Count(log, text), text)
		}
	}
}

// lacks is an error when body lacks one of the lines.
func lacks(body string, lines ...string) error {
	for _, line := range lines {
		if !strings.Contains(body, line) {
			return fmt.Errorf("there is no %s in\n%s", line, body)
		}
	}
	return nil
}

// get returns the status and body that a URL answers with.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestMetricsAndProfilesAreServed(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	controller, _ := startController(t, "--enable-pprof-debug")
	namespace := testkit.Namespace(t, user)
	box := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, box)
	fixture.Must(t, user, box, await.Ready())
	testkit.Eventually(t, "the metrics of a Sandbox", func() error {
		_, body := get(t, controller.MetricsURL())
		return lacks(body, `agent_sandbox_build_info{`,
			`agent_sandboxes{created_by="unknown",expired="false",launch_type="unknown",namespace="`+namespace+`",operating_mode="Running",owned_by="None",ready_condition="True",sandbox_template="unknown"} 1`,
			`agent_sandbox_creation_latency_ms_count{launch_type="unknown",namespace="`+namespace+`",sandbox_template="unknown"} 1`)
	})
	base := strings.TrimSuffix(controller.MetricsURL(), "/metrics")
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/profile?seconds=1", "/debug/fgprof?seconds=1"} {
		if code, body := get(t, base+path); code != http.StatusOK || body == "" {
			t.Errorf("%s answers %d with %d bytes", path, code, len(body))
		}
	}
}

func TestByDefaultNoProfilesAreServed(t *testing.T) {
	controller, _ := startController(t)
	base := strings.TrimSuffix(controller.MetricsURL(), "/metrics")
	if code, _ := get(t, base+"/debug/pprof/heap"); code != http.StatusNotFound {
		t.Errorf("/debug/pprof/heap answers %d", code)
	}
}
