// Package golden compares what was produced with the copy that is kept under review.
package golden

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
)

// Compare returns an error with the differing lines if the file at path does not hold got. remedy is the command
// that accepts the difference.
func Compare(path string, got []byte, remedy string) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the golden copy: %w", err)
	}
	if difference := cmp.Diff(string(want), string(got)); difference != "" {
		return fmt.Errorf("%s is not what is rendered now (-kept +rendered):\n%s\nread the difference, then accept it with: %s", path, difference, remedy)
	}
	return nil
}

// Write makes got the content of the file at path.
func Write(path string, got []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of %s: %w", path, err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
