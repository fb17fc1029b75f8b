package testnames

import (
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestTestsAreFoundWhereGoRunsThem(t *testing.T) {
	source := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package a\n\nfunc " + name + "(t *testing.T) {}\n\n// func TestCommented(t *testing.T)\n")}
	}
	found, err := Find(fstest.MapFS{
		"a/a_test.go": source("TestHere"), "a/b/b_test.go": source("TestBelow"), "a/a.go": source("TestOfNoTestFile"),
		"a/testdata/c_test.go": source("TestData"), "bin/d_test.go": source("TestBuilt"), "a/e_test.go": source("helper"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff([]string{"TestBelow", "TestHere"}, slices.Sorted(maps.Keys(found))); difference != "" {
		t.Errorf("tests (-want +got):\n%s", difference)
	}
}
