package demo

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimelineTellsElapsedAndStepTimes(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	life, out := &Life{Name: "box", About: "a box"}, &bytes.Buffer{}
	r := newRecorder(life, began, out)
	r.add(began.Add(20*time.Millisecond), "created", "Sandbox ns/box", fact{"uid", "1"})
	r.add(began.Add(1150*time.Millisecond), "ready", "IP 10.0.0.1")
	want := `
box: a box
      ms     step
      20      +20  created    Sandbox ns/box
    1150    +1130  ready      IP 10.0.0.1
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	out.Reset()
	if err := (&Timeline{Sandboxes: []*Life{life}}).writeJSON(out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"elapsedMs": 1150`, `"stepMs": 1130`, `"uid": "1"`, `"what": "ready"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("JSON lacks %s:\n%s", want, out)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	binaries := t.TempDir()
	for _, controller := range controllers() {
		if err := os.WriteFile(filepath.Join(binaries, controller.name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := Options{Root: "/nowhere", Manifest: "samples/my-sandbox.yaml", Binaries: binaries, Controller: ControllerLocal, Output: OutputText, Timeout: time.Second, Out: io.Discard, Progress: io.Discard}
	cases := map[string]struct {
		change func(*Options)
		want   string
	}{
		"all is well":                             {func(*Options) {}, ""},
		"an unknown place for the controller":     {func(o *Options) { o.Controller = "moon" }, `--controller "moon": want local or cluster`},
		"an unknown output":                       {func(o *Options) { o.Output = "xml" }, `--output "xml": want text or json`},
		"no time":                                 {func(o *Options) { o.Timeout = 0 }, "--timeout 0s"},
		"a Deployment on simulated nodes":         {func(o *Options) { o.Controller = ControllerCluster }, "needs --kubeconfig"},
		"no asset":                                {func(o *Options) { o.Manifest = "missing.yaml" }, "make render"},
		"no controller":                           {func(o *Options) { o.Binaries = "missing" }, "make build"},
		"no controller, but the cluster runs one": {func(o *Options) { o.Binaries, o.Controller, o.Kubeconfig = "missing", ControllerCluster, "file" }, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			_, err := o.complete()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
