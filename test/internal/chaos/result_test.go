package chaos

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

func TestEachSubjectHasATable(t *testing.T) {
	results := []Result{
		{Subject: Sandboxes, Variant: Single, Seed: 7, Sandboxes: 300, Actions: map[schedule.Kind]int{schedule.Suspend: 12}},
		{
			Subject: Claims, Variant: Elected, Seed: 7, Writes: ptr.To(30), KillsBy: map[string]int{install.ExtensionsController: 5},
			Claims:     &ClaimFigures{Names: 9, Figures: claims.Figures{Made: 10, Warm: 4}},
			Violations: []check.Violation{{Kind: "SandboxClaim", Name: "a", Broken: "it is gone", History: []string{"before"}}},
		},
	}
	var out bytes.Buffer
	if err := WriteTable(&out, results); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"names of Sandboxes 300", "suspend 12", "names of claims 9", "claims made 10", "Sandboxes published, warm 4",
		"kills, agent-sandbox-extensions-controller 5", "writes by controllers for each claim 3.0", "violations 1",
		"VIOLATION (claims, elected, seed 7): SandboxClaim a: it is gone before",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, out.String())
		}
	}
}

func TestSettingsAreRefusedByName(t *testing.T) {
	good := Settings{
		Subject: Claims, Variant: Elected, Names: 1, Duration: 1, LeastPause: LeastPause, MostPause: MostPause, Progress: &bytes.Buffer{},
	}
	cases := map[string]struct {
		change func(*Settings)
		want   string
	}{
		"what a run of claims needs": {func(*Settings) {}, ""},
		"no claims":                  {func(s *Settings) { s.Names = 0 }, "--claims=0: must be above 0"},
		"an unknown subject":         {func(s *Settings) { s.Subject = "pods" }, `subject "pods"`},
		"claims with one controller": {func(s *Settings) { s.Variant = Single }, `variant "single": claims have elected controllers`},
		"an unknown variant":         {func(s *Settings) { s.Variant = "three" }, `variant "three"`},
		"no time":                    {func(s *Settings) { s.Duration = 0 }, "--duration=0s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := good
			c.change(&s)
			err := s.validate()
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
