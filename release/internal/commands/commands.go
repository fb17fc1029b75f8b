// Package commands checks that every command that a document tells users to give is run by a test, or is marked as one that a test
// cannot run.
package commands

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/testnames"
)

const (
	// pending stands in the place of a test that could be written.
	pending = "pending"
	// What a block may need that no test has: a cluster or a registry of somebody's own, or a machine that it may change.
	cloud = "cloud"
	root  = "root"
	shell = "sh"
)

// documents are the patterns of those that are read, below the root of the repository.
func documents() []string { return []string{"README.md", "docs/*.md", "release/chart/README.md"} }

var (
	// mark is the line before a block of commands: <!-- test: TestA, TestB -->, <!-- test: pending -->, <!-- needs: cloud --> or
	// <!-- needs: root -->.
	mark  = regexp.MustCompile(`^<!-- (test|needs): (.+) -->$`)
	fence = regexp.MustCompile("^ *```(.*)$")
)

// Check returns a finding for each block of commands that has no mark or one that is wrong, and a warning for each that waits for a
// test. A block has to say what it holds, so that commands can be told from what they print.
func Check(repository fs.FS) ([]finding.Finding, error) {
	known, err := testnames.Find(repository)
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	for _, pattern := range documents() {
		files, err := fs.Glob(repository, pattern)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", pattern, err)
		}
		for _, file := range files {
			content, err := fs.ReadFile(repository, file)
			if err != nil {
				return nil, fmt.Errorf("reading a document: %w", err)
			}
			findings = append(findings, checkDocument(file, string(content), known)...)
		}
	}
	return findings, nil
}

// block is one that is fenced off.
type block struct {
	line     int
	language string
	// before is the line above it.
	before string
}

func checkDocument(file, content string, known map[string]bool) []finding.Finding {
	blocks, marks := read(content)
	var findings []finding.Finding
	for _, block := range blocks {
		delete(marks, block.line-1)
		for _, problem := range check(block, known) {
			problem.File, problem.Rule, problem.Object = file, "commands-are-tested", "line "+strconv.Itoa(block.line)
			findings = append(findings, problem)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(marks)) {
		findings = append(findings, finding.Finding{
			File: file, Rule: "commands-are-tested", Object: "line " + strconv.Itoa(line), Field: "mark", Value: marks[line],
			Fix: "put it right above a block of commands",
		})
	}
	return findings
}

// read returns the blocks of a document and the marks outside of them, by their lines.
func read(content string) ([]block, map[int]string) {
	var blocks []block
	marks := map[int]string{}
	before, inside, number := "", false, 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimRight(line, "\n")
		switch opens := fence.FindStringSubmatch(line); {
		case opens != nil && !inside:
			blocks = append(blocks, block{line: number, language: strings.TrimSpace(opens[1]), before: before})
			inside = true
		case opens != nil:
			inside = false
		case !inside && mark.MatchString(strings.TrimSpace(line)):
			marks[number] = strings.TrimSpace(line)
		}
		before = strings.TrimSpace(line)
	}
	return blocks, marks
}

func check(b block, known map[string]bool) []finding.Finding {
	found := mark.FindStringSubmatch(b.before)
	switch b.language {
	case "", "bash", "shell", "console":
		return []finding.Finding{{Field: "language", Value: b.language, Fix: "say what the block holds: sh for commands, else yaml, text and so on"}}
	case shell:
	default:
		if found != nil {
			return []finding.Finding{{Field: "mark", Value: b.before, Fix: "mark blocks of commands (sh) alone"}}
		}
		return nil
	}
	switch {
	case found == nil:
		return []finding.Finding{{Field: "mark", Fix: "say what runs the commands by a line above: <!-- test: TestName -->, or <!-- needs: cloud -->"}}
	case found[1] == "needs" && found[2] != cloud && found[2] != root:
		return []finding.Finding{{Field: "needs", Value: found[2], Fix: "commands may need a cloud, or root"}}
	case found[1] == "needs":
		return nil
	}
	var findings []finding.Finding
	for name := range strings.SplitSeq(found[2], ",") {
		name = strings.TrimSpace(name)
		switch {
		case known[name]:
		case name == pending:
			findings = append(findings, finding.Finding{Field: "test", Value: name, Fix: "run the commands by a test, and name it", Warning: true})
		default:
			findings = append(findings, finding.Finding{Field: "test", Value: name, Fix: "name a test that exists"})
		}
	}
	return findings
}
