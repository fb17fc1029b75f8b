package preflight

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDocumentationKnowsWhatIsChecked(t *testing.T) {
	content, err := os.ReadFile("../../../docs/preflight.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	_, table, _ := strings.Cut(text, "| check | blocked | warning |\n| --- | --- | --- |\n")
	var documented, known []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 2 {
			break
		}
		documented = append(documented, strings.TrimSpace(cells[1]))
	}
	for _, check := range checks() {
		known = append(known, check.name)
	}
	if diff := cmp.Diff(known, documented); diff != "" {
		t.Errorf("checks (-known +documented):\n%s", diff)
	}
	if !strings.Contains(text, "\n"+strings.Join(tryPolicies(), "\n")+"\n") {
		t.Errorf("the commands that try NetworkPolicies are not these:\n%s", strings.Join(tryPolicies(), "\n"))
	}
	words := strings.Join(strings.Fields(text), " ")
	for _, engine := range engines() {
		name, _, _ := strings.Cut(engine.name, " (")
		if !strings.Contains(words, name) {
			t.Errorf("%s is not documented", name)
		}
	}
	if !slices.Contains(strings.Fields(words), oldestKubernetes+",") {
		t.Errorf("Kubernetes %s is not documented", oldestKubernetes)
	}
}
