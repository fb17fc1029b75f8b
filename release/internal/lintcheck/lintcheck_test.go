package lintcheck

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestMarksAreReadByLine(t *testing.T) {
	got, err := marks(fstest.MapFS{
		"core/a.go":   &fstest.MapFile{Data: []byte("package a\n\nvar b int // want unused gochecknoglobals\n")},
		"core/README": &fstest.MapFile{Data: []byte("// want nothing\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"core/a.go:3 unused", "core/a.go:3 gochecknoglobals"}
	var lines []string
	for _, mark := range got {
		lines = append(lines, describe(mark, "", "").Object+" "+mark.linter)
	}
	if difference := cmp.Diff(want, lines); difference != "" {
		t.Errorf("marks (-want +got):\n%s", difference)
	}
}

func TestAFixtureWithoutMarksProvesNothing(t *testing.T) {
	if _, err := marks(fstest.MapFS{"a.go": &fstest.MapFile{Data: []byte("package a\n")}}); err == nil {
		t.Error("a fixture without a mark passed")
	}
}

func TestBothKindsOfDifferenceAreFound(t *testing.T) {
	marked := []issue{{"a.go", 1, "forbidigo"}, {"a.go", 2, "errcheck"}}
	reported := []issue{{"a.go", 1, "forbidigo"}, {"a.go", 2, "unused"}}
	var got []string
	for _, breach := range compare(marked, reported) {
		got = append(got, breach.Object+" "+breach.Field+" "+breach.Value)
	}
	want := []string{"a.go:2 errcheck not reported", "a.go:2 unused reported without a mark"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("findings (-want +got):\n%s", difference)
	}
	if findings := compare(marked, marked); len(findings) > 0 {
		t.Errorf("no difference, but %v", findings)
	}
}

func TestALinterThatDoesNotRunIsAnError(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	_, err := Check(t.Context(), root, filepath.Join(t.TempDir(), "missing"), filepath.Join(root, "release", "testdata", "lint"))
	if err == nil || !strings.Contains(err.Error(), "linting the fixture") {
		t.Errorf("got %v, want an error that says what was run", err)
	}
}
