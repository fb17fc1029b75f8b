package versions

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

func TestAModuleAtTwoVersionsIsReported(t *testing.T) {
	builds := []Build{{Name: "core"}, {Name: "test"}, {Name: "go.work"}}
	used := []map[string]string{
		{"example.com/same": "v1.0.0", "example.com/raised": "v1.0.0", "go.uber.org/zap": "v1.0.0"},
		{"example.com/same": "v1.0.0", "example.com/raised": "v1.1.0", "go.uber.org/zap": "v1.1.0"},
		{"example.com/same": "v1.0.0", "example.com/raised": "v1.0.0", "example.com/only": "v3.0.0"},
	}
	want := []finding.Finding{{
		File: "test", Rule: "one-version", Object: "example.com/raised", Field: "version", Value: "v1.1.0",
		Fix: "core has v1.0.0: require the same in both, so that it is compiled once",
	}}
	if diff := cmp.Diff(want, compare(builds, used)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestVersionsAreThoseOfThePackagesThatAreCompiled(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	modules, err := modulesOf(context.Background(), root, Build{Name: "release", Packages: []string{"./internal/render"}})
	if err != nil {
		t.Fatal(err)
	}
	if modules["sigs.k8s.io/kustomize/api"] == "" || modules["github.com/google/go-containerregistry"] != "" {
		t.Errorf("the tests of package render compile packages of %v", modules)
	}
}

func TestABuildThatCannotBeListedIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Check(context.Background(), root, []Build{{Name: "broken", Packages: []string{"./..."}}})
	if err == nil || !strings.Contains(err.Error(), "listing the modules of broken") {
		t.Errorf("error %v", err)
	}
}
