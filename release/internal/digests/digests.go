// Package digests keeps the file that says which digest each built image has: what builds images writes it, what
// pushes them and what renders assets reads it.
package digests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// FileName is what the file is called in the directory of the built images.
const FileName = "digests.json"

// Write makes the file at path hold digests, such as sha256:…, by the bare name of the image.
func Write(path string, digests map[string]string) error {
	content, err := json.MarshalIndent(digests, "", "  ")
	if err != nil {
		return fmt.Errorf("writing digests as JSON: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the digests: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing digests: %w", err)
	}
	return nil
}

// Read returns what Write wrote to the file at path. A file without an image, and a value that is no SHA-256
// digest, are errors; so is a file that does not exist (fs.ErrNotExist).
func Read(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading digests: %w", err)
	}
	var digests map[string]string
	if err := json.Unmarshal(content, &digests); err != nil {
		return nil, fmt.Errorf("reading digests from %s: %w", path, err)
	}
	if len(digests) == 0 {
		return nil, fmt.Errorf("%s holds no image", path)
	}
	wellFormed := regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	for image, digest := range digests {
		if !wellFormed.MatchString(digest) {
			return nil, fmt.Errorf("%s: %q is no digest of image %s: want sha256: and 64 hexadecimal digits", path, digest, image)
		}
	}
	return digests, nil
}
