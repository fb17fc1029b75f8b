package steps_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/steps"
)

// ticking is a clock that moves on by 1.5 s at every look.
func ticking() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}
}

func TestAllStepsRunAndTheTableSaysWhichFailed(t *testing.T) {
	var stdout, stderr bytes.Buffer
	err := steps.New(ticking(), &stdout, &stderr, "").Run(t.Context(), []steps.Step{
		{Name: "good", Command: "echo hello"},
		{Name: "bad", Command: "echo oops >&2; exit 3"},
		{Name: "after", Command: "true"},
	})
	if !errors.Is(err, steps.ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	want := `==> good: echo hello
hello
==> bad: echo oops >&2; exit 3
==> after: true

STEP   SECONDS  RESULT
good   1.5      ok
bad    1.5      exit status 3
after  1.5      ok

bad: exit status 3:
oops
`
	if difference := cmp.Diff(want, stdout.String()); difference != "" {
		t.Errorf("standard output (-want +got):\n%s", difference)
	}
	if stderr.String() != "oops\n" {
		t.Errorf("standard error is %q", stderr.String())
	}
}

// The whole output of a run is long: what matters of it is said again in the end.
func TestWhatFailedTestsSaidIsSaidAgain(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"as go test prints it": {
			"--- FAIL: TestA (0.00s)\n    a_test.go:1: first\n        more\n--- FAIL: TestB (0.00s)\n    b_test.go:2: second\nFAIL\nFAIL\tpackage\t0.1s\nok  \tother\t0.1s",
			"--- FAIL: TestA (0.00s)\n    a_test.go:1: first\n        more\n--- FAIL: TestB (0.00s)\n    b_test.go:2: second",
		},
		"as go test -v prints it": {
			"=== RUN   TestA\n    a_test.go:1: all well\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/sub\n    b_test.go:2: wrong\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/sub (0.00s)\n=== RUN   TestC\n--- PASS: TestC (0.00s)\nFAIL",
			"=== RUN   TestB\n=== RUN   TestB/sub\n    b_test.go:2: wrong\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/sub (0.00s)",
		},
		"what is no test": {strings.Repeat("line\n", 20) + "broken", strings.Repeat("line\n", 14) + "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "output")
			if err := os.WriteFile(output, []byte(test.output+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout bytes.Buffer
			err := steps.New(ticking(), &stdout, &stdout, "").Run(t.Context(), []steps.Step{{Name: "bad", Command: "cat " + output + "; exit 1"}})
			if want := "\n\nbad: exit status 1:\n" + test.want + "\n"; !errors.Is(err, steps.ErrFailed) || !strings.HasSuffix(stdout.String(), want) {
				t.Errorf("%v, and it ends with\n%s\nwant\n%s", err, stdout.String(), want)
			}
		})
	}
}

func TestRowsOfARunInsideAStepReachTheOuterTable(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var inner bytes.Buffer
	if err := steps.New(ticking(), &inner, &inner, report).Run(t.Context(), []steps.Step{{Name: "unit", Command: "true"}}); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	err := steps.New(ticking(), &stdout, &stdout, "").Run(t.Context(), []steps.Step{{Name: "test", Command: "cat " + report + ` >> "$` + steps.ReportVariable + `"`}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "test         1.5      ok\ntest / unit  1.5      ok\n"; !strings.HasSuffix(stdout.String(), want) {
		t.Errorf("the table is\n%s\nwant it to end in\n%s", stdout.String(), want)
	}
}

func TestNoStepStartsOnceTheRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout bytes.Buffer
	err := steps.New(ticking(), &stdout, &stdout, "").Run(ctx, []steps.Step{{Name: "late", Command: "echo started"}})
	if !errors.Is(err, steps.ErrFailed) || !strings.Contains(stdout.String(), "not run") || strings.Contains(stdout.String(), "started") {
		t.Errorf("got %v and\n%s", err, stdout.String())
	}
}

func TestParse(t *testing.T) {
	got, err := steps.Parse([]string{"unit=FOO=bar go test"})
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff([]steps.Step{{Name: "unit", Command: "FOO=bar go test"}}, got); difference != "" {
		t.Errorf("steps (-want +got):\n%s", difference)
	}
	for name, args := range map[string][]string{
		"no step":          nil,
		"no command":       {"unit"},
		"an empty name":    {"=true"},
		"an empty command": {"unit="},
	} {
		if _, err := steps.Parse(args); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
