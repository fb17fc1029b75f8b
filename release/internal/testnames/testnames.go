// Package testnames knows the names of all tests, for documents that name them.
package testnames

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// Find returns the names of all tests below root. What is in a comment is none.
func Find(root fs.FS) (map[string]bool, error) {
	known := map[string]bool{}
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", "testdata", ".git"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return readTests(root, path, known)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for tests: %w", err)
	}
	return known, nil
}

func readTests(root fs.FS, path string, into map[string]bool) error {
	content, err := fs.ReadFile(root, path)
	if err != nil {
		return err
	}
	for _, match := range testFunction.FindAllSubmatch(content, -1) {
		into[string(match[1])] = true
	}
	return nil
}
