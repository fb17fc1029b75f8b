// Package faults checks the list of known faults: every line names tests, and every test that it names exists.
package faults

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

// Document is the list, below the root of the repository.
const Document = "docs/faults.md"

var (
	row          = regexp.MustCompile(`^\| (A\d+\.\d+) \|.*\|([^|]*)\|$`)
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Check returns a finding for each line of the list that names no test, or one that is nowhere below root.
func Check(root fs.FS) ([]finding.Finding, error) {
	content, err := fs.ReadFile(root, Document)
	if err != nil {
		return nil, fmt.Errorf("reading the list of faults: %w", err)
	}
	known, err := testFunctions(root)
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	for line := range strings.Lines(string(content)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		for _, test := range strings.Split(cells[2], ",") {
			if test = strings.TrimSpace(test); !known[test] {
				findings = append(findings, finding.Finding{
					File: Document, Rule: "tests-exist", Object: cells[1], Field: "tests", Value: test, Fix: "name a test that exists",
				})
			}
		}
	}
	return findings, nil
}

// testFunctions are the names of all tests below root.
func testFunctions(root fs.FS) (map[string]bool, error) {
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
