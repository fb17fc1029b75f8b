// Package proofs checks lists of promises, of which each line names the tests that prove it: the known faults, and the threats.
package proofs

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/testnames"
)

// Pending stands in the place of a test that needs a real node and is not there yet.
const Pending = "test/node: pending"

// List is a document with a table whose last column names tests.
type List struct {
	// Document is its path below the root of the repository.
	Document string
	// row finds a line's number and its tests.
	row *regexp.Regexp
	// mayWait says that a proof may be pending.
	mayWait bool
}

// Faults is the list of known faults.
func Faults() List {
	return List{Document: "docs/faults.md", row: regexp.MustCompile(`^\| (A\d+\.\d+) \|.*\|([^|]*)\|$`)}
}

// Threats is the list of threats and what holds them off.
func Threats() List {
	return List{Document: "docs/security.md", row: regexp.MustCompile(`^\| (T\d+\.\d+) \|.*\|([^|]*)\|$`), mayWait: true}
}

// Check returns a finding for each line of the list that names no test, or one that is nowhere below root, and a warning for each proof
// that is pending.
func Check(root fs.FS, list List) ([]finding.Finding, error) {
	content, err := fs.ReadFile(root, list.Document)
	if err != nil {
		return nil, fmt.Errorf("reading a list of proofs: %w", err)
	}
	known, err := testnames.Find(root)
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	rows := 0
	for line := range strings.Lines(string(content)) {
		cells := list.row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		rows++
		findings = append(findings, list.checkRow(cells[1], cells[2], known)...)
	}
	if rows == 0 {
		findings = append(findings, finding.Finding{File: list.Document, Rule: "tests-exist", Object: "the list", Field: "lines", Fix: "have a line"})
	}
	return findings, nil
}

func (l List) checkRow(number, tests string, known map[string]bool) []finding.Finding {
	var findings []finding.Finding
	for _, test := range strings.Split(tests, ",") {
		test = strings.Trim(strings.TrimSpace(test), "`")
		found := finding.Finding{File: l.Document, Rule: "tests-exist", Object: number, Field: "tests", Value: test, Fix: "name a test that exists"}
		switch {
		case known[test]:
			continue
		case test == Pending && l.mayWait:
			found.Fix, found.Warning = "name the test once there is one", true
		}
		findings = append(findings, found)
	}
	return findings
}
