package imports_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/agent-sandbox/release/internal/imports"
)

func TestThisRepositoryKeepsTheDirection(t *testing.T) {
	findings, err := imports.Check(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range findings {
		t.Error(breach)
	}
}

func TestCheck(t *testing.T) {
	const ours = "sigs.k8s.io/agent-sandbox/"
	for name, test := range map[string]struct {
		file     string
		imported string
		breach   bool
	}{
		"shared must not know core":                     {"shared/app/a.go", ours + "core/api/v1beta1", true},
		"shared may use itself":                         {"shared/app/a.go", ours + "shared/names", false},
		"core may use shared":                           {"core/internal/sandbox/a.go", ours + "shared/app", false},
		"core must not know extensions":                 {"core/internal/sandbox/a.go", ours + "extensions/api/v1beta1", true},
		"tests of core are no exception":                {"core/internal/sandbox/a_test.go", ours + "extensions/api/v1beta1", true},
		"extensions may use the API of core":            {"extensions/internal/claim/a.go", ours + "core/api/v1beta1", false},
		"extensions must not use commands of core":      {"extensions/internal/claim/a.go", ours + "core/cmd/controller", true},
		"a name that only begins alike is another":      {"extensions/internal/claim/a.go", ours + "core/apis", true},
		"clients may use both APIs":                     {"clients/go/sandbox/a.go", ours + "extensions/api/v1beta1", false},
		"clients must not bring the controllers' parts": {"clients/go/sandbox/a.go", ours + "shared/app", true},
		"release uses nothing of ours":                  {"release/cmd/render/a.go", ours + "core/api/v1beta1", true},
		"test may use the clients":                      {"test/e2e/a.go", ours + "clients/go/sandbox", false},
		"test must not use release":                     {"test/e2e/a.go", ours + "release/cmd/render", true},
		"other people's packages are free":              {"shared/app/a.go", "k8s.io/api/core/v1", false},
		"a module without an entry is reported":         {"plugins/a.go", "fmt", true},
		"testdata is not built":                         {"shared/app/testdata/a.go", ours + "core/api/v1beta1", false},
		"hidden directories are not built":              {".cache/a.go", ours + "core/api/v1beta1", false},
		"built files do not count":                      {"bin/a.go", ours + "core/api/v1beta1", false},
	} {
		t.Run(name, func(t *testing.T) {
			content := "package a\n\nimport _ \"" + test.imported + "\"\n"
			findings, err := imports.Check(fstest.MapFS{test.file: &fstest.MapFile{Data: []byte(content)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(findings) > 0; got != test.breach {
				t.Errorf("findings: %v, want a breach: %v", findings, test.breach)
			}
		})
	}
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	_, err := imports.Check(fstest.MapFS{"core/a.go": &fstest.MapFile{Data: []byte("package")}})
	if err == nil || !strings.Contains(err.Error(), "core/a.go") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
