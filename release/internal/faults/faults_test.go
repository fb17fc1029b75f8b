package faults

import (
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
		"it is no such line": {"| fault | right behaviour | tests |", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			findings, err := Check(fstest.MapFS{Document: {Data: []byte(tc.row + "\n")}, "a/a_test.go": tests})
			if err != nil {
				t.Fatal(err)
			}
			if (len(findings) == 1) != (tc.want != "") || tc.want != "" && !strings.Contains(findings[0].String(), tc.want) {
				t.Errorf("findings %v", findings)
			}
		})
	}
	if _, err := Check(fstest.MapFS{}); err == nil {
		t.Error("a list that is missing is no error")
	}
}
