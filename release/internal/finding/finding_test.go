package finding_test

import (
	"bytes"
	"testing"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

func TestAFindingIsOneLine(t *testing.T) {
	findings := []finding.Finding{
		{File: "a.yaml", Rule: "pinned-images", Object: "Deployment.apps b/c", Field: "image", Value: "d:latest\n", Fix: "pin it"},
		{File: "a.yaml", Rule: "probes", Object: "Deployment.apps b/c", Field: "readinessProbe", Fix: "add it"},
		{File: "a.md", Rule: "tests-exist", Object: "T1", Field: "tests", Fix: "write one", Warning: true},
	}
	var text bytes.Buffer
	if err := finding.WriteText(&text, findings); err != nil {
		t.Fatal(err)
	}
	want := `a.yaml: Deployment.apps b/c: image is "d:latest\n": pin it (pinned-images)
a.yaml: Deployment.apps b/c: readinessProbe is not set: add it (probes)
warning: a.md: T1: tests is not set: write one (tests-exist)
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if breaches := finding.Breaches(findings); breaches != 2 {
		t.Errorf("%d are breaches, want 2", breaches)
	}
}

func TestNoFindingsAreAnEmptyJSONArray(t *testing.T) {
	var text bytes.Buffer
	if err := finding.WriteJSON(&text, nil); err != nil {
		t.Fatal(err)
	}
	if text.String() != "[]\n" {
		t.Errorf("got %q", text.String())
	}
}
