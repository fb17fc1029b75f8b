package modules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionsThatModulesCanHave(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0":      "",
		"v1.4.0-rc.1": "",
		"0.2.0":       "want the form v1.2.3",
		"v0.2":        "want the form v1.2.3",
		"v1.0.0+meta": "want the form v1.2.3",
		"v2.0.0":      "add /v2 to them first",
		"":            "want the form v1.2.3",
	} {
		t.Run(version, func(t *testing.T) {
			err := validate(version)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func TestModulesRequireTheVersionOfEachOther(t *testing.T) {
	const before = `module sigs.k8s.io/agent-sandbox/extensions

go 1.26.0

require (
	k8s.io/api v0.37.2
	sigs.k8s.io/agent-sandbox/core v0.0.0
	sigs.k8s.io/agent-sandbox/shared v0.0.0 // indirect
)

replace sigs.k8s.io/agent-sandbox/core => ../core
`
	after, err := requiring("extensions/go.mod", []byte(before), "v0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(before, "v0.0.0", "v0.2.0")
	if diff := cmp.Diff(want, string(after)); diff != "" {
		t.Errorf("go.mod (-want +got):\n%s", diff)
	}
}

func TestAPublishedModuleRequiresPublishedOnesAlone(t *testing.T) {
	const content = "module %s\n\nrequire sigs.k8s.io/agent-sandbox/release v0.0.0\n"
	for module, want := range map[string]string{
		Path("core"): "which is not published",
		Path("test"): "",
	} {
		t.Run(module, func(t *testing.T) {
			_, err := requiring("go.mod", []byte(strings.Replace(content, "%s", module, 1)), "v0.2.0")
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}
