package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stamp describes how a file was made and what came of it.
type stamp struct {
	// Inputs is a hash over all that decides the file's content.
	Inputs string `json:"inputs"`
	// Size is the file's length in bytes.
	Size int64 `json:"size"`
}

// inputsOf hashes the target's definition, flags, Go version and input files.
func inputsOf(root string, t Target, flags []string, goVersion string) (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode([]any{t, flags, goVersion}); err != nil {
		return "", fmt.Errorf("hashing the definition of %s: %w", t.Name, err)
	}
	module := filepath.Join(root, filepath.FromSlash(t.Module))
	files := []string{filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")}
	for _, input := range t.Inputs {
		found, err := sources(filepath.Join(root, filepath.FromSlash(input)))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("hashing the inputs of %s: %w", t.Name, err)
		}
		name := strings.TrimPrefix(file, root)
		if _, err := fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data); err != nil {
			return "", fmt.Errorf("hashing %s: %w", file, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sources lists what a build of the directory reads: all files but tests.
func sources(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case !entry.IsDir() && !strings.HasSuffix(path, "_test.go"):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the sources in %s: %w", dir, err)
	}
	return found, nil
}

func stampPath(out, name string) string {
	return filepath.Join(out, "."+name+".stamp")
}

// fresh says whether the file was made from those inputs and is still whole.
func fresh(out, name, inputs string) bool {
	data, err := os.ReadFile(stampPath(out, name))
	if err != nil {
		return false
	}
	var s stamp
	info, err := os.Stat(filepath.Join(out, name))
	return err == nil && json.Unmarshal(data, &s) == nil && s == stamp{Inputs: inputs, Size: info.Size()}
}

// install puts a finished temporary file in place, then its stamp.
func install(temporary, out, name, inputs string) error {
	info, err := os.Stat(temporary)
	if err != nil {
		return fmt.Errorf("looking at the new %s: %w", name, err)
	}
	data, err := json.Marshal(stamp{Inputs: inputs, Size: info.Size()})
	if err != nil {
		return fmt.Errorf("encoding the stamp of %s: %w", name, err)
	}
	if err := os.Remove(stampPath(out, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the old stamp of %s: %w", name, err)
	}
	if err := os.Rename(temporary, filepath.Join(out, name)); err != nil {
		return fmt.Errorf("putting %s in place: %w", name, err)
	}
	if err := os.WriteFile(stampPath(out, name), data, 0o644); err != nil {
		return fmt.Errorf("writing the stamp of %s: %w", name, err)
	}
	return nil
}
