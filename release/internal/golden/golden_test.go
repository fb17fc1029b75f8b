package golden_test

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/release/internal/golden"
)

func TestCompareShowsTheLinesThatDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", "asset.yaml")
	if err := golden.Compare(path, nil, "make golden"); err == nil {
		t.Error("a missing golden copy passed")
	}
	if err := golden.Write(path, []byte("replicas: 1\nname: a\n")); err != nil {
		t.Fatal(err)
	}
	if err := golden.Compare(path, []byte("replicas: 1\nname: a\n"), "make golden"); err != nil {
		t.Errorf("the same content differs: %v", err)
	}
	err := golden.Compare(path, []byte("replicas: 2\nname: a\n"), "make golden")
	if err == nil {
		t.Fatal("other content passed")
	}
	for _, want := range []string{"replicas: ", "1", "2", "make golden", path} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}
