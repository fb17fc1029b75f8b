package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// A flag or metric that is added, changed or removed fails here until the documents tell it.
func TestFlagsAndMetricsAreAsDocumented(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), root); err != nil {
		t.Error(err)
	}
}

func TestTheTableOfMetricsHasTheContract(t *testing.T) {
	both, err := newPrograms()
	if err != nil {
		t.Fatal(err)
	}
	table, err := metricTable(t.Context(), both)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `agent_sandbox_build_info` | gauge | both | build_date, compiler, git_commit, git_version, go_version, platform | ",
		"| `agent_sandboxes` | gauge | core | namespace, ready_condition, expired, launch_type, sandbox_template, owned_by, created_by, operating_mode | ",
		"| `agent_sandbox_events_dropped_total` | counter | both |  | ",
		"| `agent_sandbox_creation_latency_ms` | histogram | core | namespace, launch_type, sandbox_template | ",
		"| `agent_sandbox_claim_creation_total` | counter | extensions | namespace, sandbox_template, launch_type, warmpool_name, pod_condition, created_by | ",
		"| `agent_sandbox_claim_startup_latency_ms` | histogram | extensions | launch_type, sandbox_template | ",
		"| `agent_sandbox_warmpool_size` | gauge | extensions | namespace, warmpool_name, sandbox_template, sandbox_status | ",
		"| `agent_sandbox_suspend_total` | counter | core | namespace, sandbox_template, owned_by, result | ",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the table:\n%s", table)
	}
}

func TestTheTableOfTheRoutersMetricsHasTheContract(t *testing.T) {
	table, err := routerMetricTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `sandbox_router_requests_total` | counter | method, code, sandbox_namespace | ",
		"| `sandbox_router_request_duration_seconds` | histogram | method, sandbox_namespace | ",
		"| `sandbox_router_inflight_requests` | gauge |  | ",
		"| `sandbox_router_upstream_errors_total` | counter | sandbox_namespace, reason | ",
		"| `sandbox_router_upstream_retries_total` | counter | sandbox_namespace | ",
		"| `sandbox_router_cache_invalidations_total` | counter | sandbox_namespace | ",
		"| `sandbox_router_authz_decisions_total` | counter | sandbox_namespace, decision | ",
		"| `sandbox_router_cert_reloads_total` | counter | outcome | ",
		"| `sandbox_router_build_info` | gauge | build_date, compiler, git_commit, git_version, go_version, platform | ",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the table:\n%s", table)
	}
}

func TestWhatIsRegisteredIsNoted(t *testing.T) {
	for name, test := range map[string]struct {
		collector prometheus.Collector
		want      metric
	}{
		"a histogram with labels": {
			prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "a_ms", Help: `It says "how", {long}.`}, []string{"x", "y"}),
			metric{"a_ms", "histogram", `It says "how", {long}.`, []string{"x", "y"}},
		},
		"a counter without": {
			prometheus.NewCounter(prometheus.CounterOpts{Name: "b_total", Help: "B."}), metric{"b_total", "counter", "B.", nil},
		},
		"a gauge that always says the same": {
			prometheus.NewGauge(prometheus.GaugeOpts{Name: "c", Help: "C.", ConstLabels: prometheus.Labels{"of": `a "word", and more`}}),
			metric{"c", "gauge", "C.", []string{"of"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found registry
			if err := found.Register(test.collector); err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff([]metric{test.want}, found.metrics, cmp.AllowUnexported(metric{})); difference != "" {
				t.Errorf("noted (-want +got):\n%s", difference)
			}
		})
	}
	if err := new(registry).Register(prometheus.NewSummary(prometheus.SummaryOpts{Name: "d", Help: "D."})); err == nil {
		t.Error("a summary, which no table explains, passed")
	}
}

func TestFlagsOfBothAreOneTable(t *testing.T) {
	shared := app.Flag{Group: "Health", Name: "probe", Type: "string", Default: ":1", Usage: "Where."}
	inert := func(flag app.Flag) app.Flag {
		flag.Group, flag.Usage, flag.Inert = "Other controller's", "Elsewhere.", true
		return flag
	}
	workers := app.Flag{Group: "Claims", Name: "workers", Type: "int", Default: "5", Usage: "How many."}
	old := inert(app.Flag{Name: "extensions", Type: "bool", Default: "false"})
	rows, err := mergeFlags([]app.Flag{shared, inert(workers), old}, []app.Flag{workers, shared, old})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, strings.Join([]string{row.Group, row.Name, row.actsOn(), row.Usage}, "/"))
	}
	want := []string{"Claims/workers/extensions/How many.", "Health/probe/both/Where.", "Without effect/extensions/neither/Accepted for arguments of the public project."}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("rows (-want +got):\n%s", difference)
	}
	other := shared
	other.Default = ":2"
	for name, sets := range map[string][2][]app.Flag{
		"one that the core lacks":            {{shared}, {shared, workers}},
		"one that the extensions lack":       {{shared, workers}, {shared}},
		"one with two defaults":              {{shared}, {other}},
		"one that the core alone knows of":   {{workers}, nil},
		"one whose default the other denies": {{inert(other)}, {shared}},
	} {
		if _, err := mergeFlags(sets[0], sets[1]); err == nil {
			t.Errorf("%s passed", name)
		}
	}
}

func TestATableNeedsItsPlace(t *testing.T) {
	const begins, ends = "<!-- flags: generated by test/cmd/reference -->\n", "<!-- end of flags -->\n"
	got, err := withTable([]byte("a\n"+begins+"old\n"+ends+"b\n"), "flags", "new\n")
	if want := "a\n" + begins + "new\n" + ends + "b\n"; err != nil || string(got) != want {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
	for _, text := range []string{"", begins, ends, ends + begins} {
		if _, err := withTable([]byte(text), "flags", "new\n"); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}
