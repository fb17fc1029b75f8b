// Package lintcheck proves that the linter's configuration finds what it is there to find: it lints a module of
// deliberate breaches, each marked with a comment, and compares.
package lintcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

// marker stands before the names of the linters that must report its line.
const marker = "// want "

const configuration = ".golangci.yaml"

// issue is a report by one linter about one line.
type issue struct {
	file   string
	line   int
	linter string
}

// Check lints a copy of the module in fixture with the program linter under the configuration of the repository
// at root, and reports every mark without an issue and every issue without a mark.
func Check(ctx context.Context, root, linter, fixture string) (findings []finding.Finding, err error) {
	program, err := filepath.Abs(linter)
	if err != nil {
		return nil, fmt.Errorf("locating the linter: %w", err)
	}
	scratch, err := os.MkdirTemp("", "lintcheck-")
	if err != nil {
		return nil, fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.CopyFS(scratch, os.DirFS(fixture)); err != nil {
		return nil, fmt.Errorf("copying the fixture: %w", err)
	}
	config, err := os.ReadFile(filepath.Join(root, configuration))
	if err != nil {
		return nil, fmt.Errorf("reading the linter's configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(scratch, configuration), config, 0o600); err != nil {
		return nil, fmt.Errorf("copying the linter's configuration: %w", err)
	}
	marked, err := marks(os.DirFS(scratch))
	if err != nil {
		return nil, err
	}
	reported, err := lint(ctx, program, scratch)
	if err != nil {
		return nil, err
	}
	return compare(marked, reported), nil
}

func marks(fixture fs.FS) ([]issue, error) {
	var marked []issue
	err := fs.WalkDir(fixture, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		content, err := fs.ReadFile(fixture, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(content), "\n") {
			_, linters, _ := strings.Cut(line, marker)
			for _, linter := range strings.Fields(linters) {
				marked = append(marked, issue{file: name, line: i + 1, linter: linter})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the marks of the fixture: %w", err)
	}
	if len(marked) == 0 {
		return nil, errors.New("the fixture holds no mark, so it proves nothing")
	}
	return marked, nil
}

func lint(ctx context.Context, program, dir string) ([]issue, error) {
	command := exec.CommandContext(ctx, program, "run", "--issues-exit-code=0", "--output.json.path=stdout", "--show-stats=false", "./...")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("linting the fixture: %w\n%s", err, stderr.String())
	}
	var report struct {
		Issues []struct {
			FromLinter string
			Pos        struct {
				Filename string
				Line     int
			}
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("reading the linter's report: %w", err)
	}
	var issues []issue
	for _, found := range report.Issues {
		issues = append(issues, issue{file: filepath.ToSlash(found.Pos.Filename), line: found.Pos.Line, linter: found.FromLinter})
	}
	return issues, nil
}

func compare(marked, reported []issue) []finding.Finding {
	var findings []finding.Finding
	for _, mark := range marked {
		if !slices.Contains(reported, mark) {
			findings = append(findings, describe(mark, "not reported", "make the configuration of "+mark.linter+" catch it"))
		}
	}
	for _, report := range reported {
		if !slices.Contains(marked, report) {
			findings = append(findings, describe(report, "reported without a mark", "mark the line, or correct the fixture"))
		}
	}
	return findings
}

func describe(issue issue, value, fix string) finding.Finding {
	return finding.Finding{
		File: configuration, Rule: "linter-works", Object: fmt.Sprintf("%s:%d", issue.file, issue.line), Field: issue.linter, Value: value, Fix: fix,
	}
}
