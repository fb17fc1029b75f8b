package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

// usualPath is where programs are looked for without a PATH, as shells do.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// find returns the path of an executable: its name if that has a slash, relative to dir, or else the first of that name in the
// directories of searched. It fails with what stands in the way of the first that is there, should none be executable.
func find(name, dir, searched string) (string, error) {
	if strings.Contains(name, "/") {
		executable := name
		if !filepath.IsAbs(name) {
			executable = filepath.Join(dir, name)
		}
		return executable, executableAt(executable)
	}
	if searched == "" {
		searched = usualPath
	}
	var inTheWay error
	for _, candidate := range filepath.SplitList(searched) {
		if !filepath.IsAbs(candidate) {
			candidate = filepath.Join(dir, candidate)
		}
		candidate = filepath.Join(candidate, name)
		err := executableAt(candidate)
		if err == nil {
			return candidate, nil
		}
		if inTheWay == nil && fault.KindOf(err) == fault.Forbidden {
			inTheWay = err
		}
	}
	if inTheWay != nil {
		return "", inTheWay
	}
	return "", fault.New(fault.NotFound, "program %q: not found in PATH", name)
}

func executableAt(path string) error {
	info, err := os.Stat(path)
	switch {
	case fault.KindOf(err) == fault.Conflict:
		return fault.New(fault.NotFound, "program %q: not found", path)
	case err != nil:
		return fmt.Errorf("program %q: %w", path, pathless(err))
	case info.IsDir():
		return fault.New(fault.Forbidden, "program %q: is a directory", path)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("program %q: %w", path, err)
	}
	return nil
}

// pathless is the error without the path, which is told already.
func pathless(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return err
}
