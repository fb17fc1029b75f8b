package chart

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/agent-sandbox/release/internal/golden"
)

// Directory is that of the chart, below the root of the repository.
const Directory = "release/chart"

// Generate writes the generated files of the chart of the repository at root: everything below files/, and the table in README.md.
// Same sources, same bytes.
func Generate(root string) error {
	directory := filepath.Join(root, filepath.FromSlash(Directory))
	values, err := os.ReadFile(filepath.Join(directory, "values.yaml"))
	if err != nil {
		return fmt.Errorf("reading the values of the chart: %w", err)
	}
	files, err := bodies(root)
	if err != nil {
		return err
	}
	if files["flags.yaml"], err = flagDefaults(values); err != nil {
		return err
	}
	readme := filepath.Join(directory, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return fmt.Errorf("reading the README of the chart: %w", err)
	}
	if text, err = withTable(text, values); err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	// The file of an object that was renamed or removed goes too.
	if err := os.RemoveAll(filepath.Join(directory, "files")); err != nil {
		return fmt.Errorf("removing earlier files of the chart: %w", err)
	}
	for name, content := range files {
		if err := golden.Write(filepath.Join(directory, "files", filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	return golden.Write(readme, text)
}
