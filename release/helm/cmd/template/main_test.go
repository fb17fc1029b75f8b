package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/release/helm"
)

func TestFilesAndSingleValuesAreMerged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("core: {replicas: 3, priorityClassName: mine}\ncrds: {install: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := options{directory: "../../../chart", release: helm.Release{Name: "mine", Namespace: "elsewhere"}, values: map[string]any{}}
	if err := opts.read(file); err != nil {
		t.Fatal(err)
	}
	if err := opts.set("core.replicas=4"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), opts, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  replicas: 4\n", "priorityClassName: mine\n", "  namespace: elsewhere\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the objects lack %q", want)
		}
	}
}

func TestWhatCannotBeRenderedIsAnError(t *testing.T) {
	opts := options{directory: "../../../chart", values: map[string]any{}}
	if err := opts.read("no-such-file.yaml"); err == nil {
		t.Error("a file that is not there is read")
	}
	if err := opts.set("core.replicas=many"); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), opts, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "/core/replicas") {
		t.Errorf("got %v, want an error that names the value", err)
	}
	opts = options{directory: t.TempDir()}
	if err := run(t.Context(), opts, &bytes.Buffer{}); err == nil {
		t.Error("a directory without a chart is rendered")
	}
}
