package bench

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
)

func TestEveryBenchmarkIsWhole(t *testing.T) {
	names := Names()
	if slices.Sort(names); len(slices.Compact(names)) != len(benchmarks()) {
		t.Errorf("names are not unique: %v", names)
	}
	for _, b := range benchmarks() {
		if b.summary == "" || b.floor == "" || b.ours == "" || len(b.controllers) == 0 {
			t.Errorf("%s does not say what it is: %+v", b.name, b)
		}
		l := b.load(Options{Count: 1, Parallel: 1, Duration: 1, Scale: 1})
		if len(b.against) > 0 {
			l = b.fit(l, make([]float64, len(b.against)))
		}
		if l.count < 1 || l.parallel < 1 {
			t.Errorf("%s does nothing with --count=1 --parallel=1: %+v", b.name, l)
		}
		var before []string
		for _, p := range b.phases(&scene{load: l}) {
			if p.than != "" && !slices.Contains(before, p.than) {
				t.Errorf("%s, phase %q: comes after %v, and so not after %q", b.name, p.name, before, p.than)
			}
			before = append(before, p.name)
			if p.judge == nil || p.figures == nil {
				t.Errorf("%s, phase %q: nobody judges it, or tells of it", b.name, p.name)
			}
			for _, s := range []step{p.floor, p.ours} {
				if p.name == "" || s.do == nil || s.reached == nil || s.want == "" {
					t.Errorf("%s, phase %q: a step is not whole", b.name, p.name)
				}
			}
		}
	}
}

func TestOptionsAreRefusedByTheNameOfTheFlag(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mutate func(*Options)
		want   string // in the error; empty: none
	}{
		{"the defaults", func(*Options) {}, ""},
		{"a case that exists", func(o *Options) { o.Cases = []string{"sandboxes"} }, ""},
		{"a case that does not", func(o *Options) { o.Cases = []string{"tea"} }, `no case "tea": there are sandboxes, claims-burst`},
		{"no objects", func(o *Options) { o.Count = 0 }, "--count=0"},
		{"none at a time", func(o *Options) { o.Parallel = 0 }, "--parallel=0"},
		{"no rounds", func(o *Options) { o.Rounds = -1 }, "--rounds=-1"},
		{"no time", func(o *Options) { o.Duration = 0 }, "--duration=0s"},
		{"nobody to be among", func(o *Options) { o.Scale = 0 }, "--scale=0"},
		{"no nodes", func(o *Options) { o.Nodes = 0 }, "--nodes=0"},
		{"a log of a cluster of its own", func(o *Options) { o.AuditLog = "x" }, "--audit-log=x"},
		{"a log of an existing cluster", func(o *Options) { o.AuditLog, o.Kubeconfig = "x", "y" }, ""},
		{"nowhere for progress", func(o *Options) { o.Progress = nil }, "no writer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Count: 1, Parallel: 1, Rounds: 1, Duration: 1, Scale: 1, Nodes: 1, Progress: io.Discard}
			tt.mutate(&o)
			err := o.validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRequestsAreSortedOut(t *testing.T) {
	controllerUser, extensionsUser := coreController().user(), extensionsController().user()
	requests := audit.Counts{
		{User: extensionsUser, Verb: "patch", Resource: "sandboxes", Code: 422}:                    2,
		{User: controllerUser, Verb: "create", Resource: "pods", Code: 201}:                        2,
		{User: controllerUser, Verb: "patch", Resource: "sandboxes/status", Code: 200}:             3,
		{User: controllerUser, Verb: "patch", Resource: "sandboxes/status", Code: 409}:             1,
		{User: controllerUser, Verb: "get", Resource: "pods", Code: 200}:                           4,
		{User: controllerUser, Verb: "create", Resource: "events", Code: 201}:                      6,
		{User: "admin", Verb: "create", Resource: "sandboxes", Code: 201}:                          2,
		{User: "system:kube-scheduler", Verb: "create", Resource: "pods/binding", Code: 201}:       2,
		{User: "devcluster:kwok", Verb: "patch", Resource: "pods/status", Code: 200}:               1,
		{User: "system:node:n", Verb: "patch", Resource: "pods/status", Code: 200}:                 1,
		{User: "system:serviceaccount:kube-system:x", Verb: "delete", Resource: "pods", Code: 200}: 2,
	}
	got := map[string]float64{}
	for _, m := range requestMeasurements(requests, 2) {
		got[m.Metric.Name] = m.Value
	}
	want := map[string]float64{
		"writes of all, Events apart":                8,
		"writes by client":                           1,
		"writes by core":                             3,
		"writes by extensions":                       1,
		"writes by kubelets":                         1,
		"writes by scheduler":                        1,
		"writes by Kubernetes' own controllers":      1,
		"core: create pods":                          1,
		"core: patch sandboxes/status":               2,
		"core, refused: patch sandboxes/status, 409": 0.5,
		"core: reads":                                2,
		"extensions: patch sandboxes":                1,
		"extensions, refused: patch sandboxes, 422":  1,
		"Events by core":                             3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("measurements (-want +got):\n%s", diff)
	}
}
