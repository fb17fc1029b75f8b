package screen_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
)

// What comes from the cluster cannot steer the terminal of whoever reads it.
func TestNothingSteersTheTerminal(t *testing.T) {
	evil := explain.Finding{
		Object: "sandbox/\x1b[2Jbox", Severity: explain.Stuck, Cause: explain.Refused, What: "red \x1b[31m\x07", Why: "two\nlines\r\u009b0m", Next: []string{"echo \x1b]0;a\x07\nrm -rf /"},
	}
	for name, text := range map[string]string{"the line of progress": screen.Progress(evil), "the screen of doctor": report(t, 1, []explain.Finding{evil})} {
		for _, r := range text {
			if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) {
				t.Errorf("%s has %q: %q", name, r, text)
			}
		}
		if strings.Contains(text, "\nrm") {
			t.Errorf("%s has a line that is no part of it: %q", name, text)
		}
	}
	if lines := strings.Count(screen.Progress(evil), "\n"); lines != 0 {
		t.Errorf("the line of progress has %d breaks", lines)
	}
}

func TestTheReportForPrograms(t *testing.T) {
	for name, told := range map[string]screen.Report{
		"with findings":    {Namespace: "team-a", Looked: 1, Findings: explain.Sandbox(broken())},
		"without findings": {Looked: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := screen.WriteReportJSON(&out, told); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), `"findings": null`) {
				t.Error("a list is null")
			}
			var got screen.Report
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if told.Findings == nil {
				told.Findings = []explain.Finding{}
			}
			if diff := cmp.Diff(told, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
