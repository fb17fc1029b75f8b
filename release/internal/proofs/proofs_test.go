package proofs

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryTestThatTheListNamesMustExist(t *testing.T) {
	tests := &fstest.MapFile{Data: []byte("package a\n\nfunc TestHere(t *testing.T) {}\n\n// func TestCommented(t *testing.T)\n")}
	cases := map[string]struct{ row, want string }{
		"all exist":          {"| A1.1 | right | TestHere |", ""},
		"one is missing":     {"| A1.1 | right | TestHere, TestGone |", "TestGone"},
		"one is a comment":   {"| A1.1 | right | TestCommented |", "TestCommented"},
		"none is named":      {"| A1.1 | right | |", "A1.1"},
		"it is no such line": {"| fault | right behaviour | tests |", "have a line"},
		"none may wait":      {"| A1.1 | right | test/node: pending |", "name a test that exists"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			findings, err := Check(fstest.MapFS{Faults().Document: {Data: []byte(tc.row + "\n")}, "a/a_test.go": tests}, Faults())
			if err != nil {
				t.Fatal(err)
			}
			if (len(findings) == 1) != (tc.want != "") || tc.want != "" && (!strings.Contains(findings[0].String(), tc.want) || findings[0].Warning) {
				t.Errorf("findings %v", findings)
			}
		})
	}
	if _, err := Check(fstest.MapFS{}, Faults()); err == nil {
		t.Error("a list that is missing is no error")
	}
}

func TestAProofThatIsPendingIsAWarning(t *testing.T) {
	list := "| T1.1 | threat | control | TestHere, `test/node: pending` |\n| T1.2 | threat | control | test/pending |\n"
	findings, err := Check(fstest.MapFS{
		Threats().Document: {Data: []byte(list)}, "a/a_test.go": {Data: []byte("func TestHere(t *testing.T) {}\n")},
	}, Threats())
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 2 || !findings[0].Warning || findings[0].Object != "T1.1" || findings[1].Warning || findings[1].Object != "T1.2" {
		t.Errorf("findings %v", findings)
	}
}

func TestTheListsOfThisRepositoryAreProven(t *testing.T) {
	for _, list := range []List{Faults(), Threats()} {
		findings, err := Check(os.DirFS("../../.."), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range findings {
			if !found.Warning {
				t.Error(found)
			}
		}
	}
}
