package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// patched copies a target's source into a directory, changes the copy, and returns a go.mod beside it that uses it in place of the module:
// what lies in the module cache belongs to every build. cleanUp removes all of it.
func patched(moduleDir, to string, t Target, source module) (modFile string, cleanUp func(), err error) {
	cleanUp = func() { _ = os.RemoveAll(to) }
	defer func() {
		if err != nil {
			cleanUp()
		}
	}()
	// What an earlier build left.
	cleanUp()
	copied := filepath.Join(to, "source")
	if err := copyWritable(copied, source.Dir); err != nil {
		return "", cleanUp, fmt.Errorf("copying module %s: %w", t.Source, err)
	}
	if err := t.Patch.apply(copied); err != nil {
		return "", cleanUp, fmt.Errorf("patching module %s %s: %w", t.Source, source.Version, err)
	}
	definition, errMod := os.ReadFile(filepath.Join(moduleDir, "go.mod"))
	sums, errSum := os.ReadFile(filepath.Join(moduleDir, "go.sum"))
	if err := errors.Join(errMod, errSum); err != nil {
		return "", cleanUp, fmt.Errorf("reading the module of %s: %w", t.Name, err)
	}
	definition = fmt.Appendf(definition, "\nreplace %s => %s\n", t.Source, copied)
	modFile = filepath.Join(to, "go.mod")
	if err := errors.Join(os.WriteFile(modFile, definition, 0o644), os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o644)); err != nil {
		return "", cleanUp, fmt.Errorf("writing the module of %s: %w", t.Name, err)
	}
	return modFile, cleanUp, nil
}

// copyWritable copies a module, whose files are read-only in the cache.
func copyWritable(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink != 0 {
			return err
		}
		const userCanWrite = 0o200
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|userCanWrite)
	})
}

func (p Patch) apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(p.File))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if found := bytes.Count(data, []byte(p.Old)); found != 1 {
		return fmt.Errorf("%s has %d times %q, want once", p.File, found, p.Old)
	}
	return os.WriteFile(path, bytes.Replace(data, []byte(p.Old), []byte(p.New), 1), 0o644)
}
