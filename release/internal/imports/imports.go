// Package imports decides which of the repository's modules may use which. The compiler keeps internal packages
// closed; the direction between the open ones is kept here.
package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

const root = "sigs.k8s.io/agent-sandbox/"

// direction says which directories of this repository the files below one directory may import from.
type direction struct {
	dir     string
	allowed []string
}

// directions is ordered: the first entry whose dir holds a file decides.
func directions() []direction {
	return []direction{
		{"shared", []string{"shared"}},
		{"core", []string{"core", "shared"}},
		{"extensions", []string{"extensions", "core/api", "shared"}},
		{"clients/go", []string{"clients/go", "core/api", "extensions/api"}},
		{"release", []string{"release"}},
		{"test", []string{"test", "shared", "core/api", "core/cmd", "extensions/api", "extensions/cmd", "clients/go"}},
	}
}

// Check reads the imports of every Go file of the repository, tests included, and reports those that go against
// the direction between the modules, and files outside any known module.
func Check(repository fs.FS) ([]finding.Finding, error) {
	var findings []finding.Finding
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		found, err := checkFile(repository, name)
		findings = append(findings, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading imports: %w", err)
	}
	return findings, nil
}

// skipped leaves out what the go command does not build either, and built files.
func skipped(dir string) error {
	base := path.Base(dir)
	if dir != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) || base == "testdata" || dir == "bin" || dir == "dist" {
		return fs.SkipDir
	}
	return nil
}

func checkFile(repository fs.FS, name string) ([]finding.Finding, error) {
	allowed := allowedFor(name)
	if allowed == nil {
		return []finding.Finding{{
			File: name, Rule: "import-direction", Object: "module " + path.Dir(name), Field: "directory", Value: name, Fix: "give its module an entry in package imports",
		}}, nil
	}
	content, err := fs.ReadFile(repository, name)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		target, ours := strings.CutPrefix(imported, root)
		if ours && !withinAny(target, allowed) {
			findings = append(findings, finding.Finding{
				File: name, Rule: "import-direction", Object: "package " + path.Dir(name), Field: "import", Value: imported,
				Fix: "import only from " + strings.Join(allowed, ", ") + ", or pass the value in",
			})
		}
	}
	return findings, nil
}

func allowedFor(name string) []string {
	for _, direction := range directions() {
		if within(name, direction.dir) {
			return direction.allowed
		}
	}
	return nil
}

func withinAny(target string, dirs []string) bool {
	for _, dir := range dirs {
		if within(target, dir) {
			return true
		}
	}
	return false
}

func within(target, dir string) bool {
	return target == dir || strings.HasPrefix(target, dir+"/")
}
