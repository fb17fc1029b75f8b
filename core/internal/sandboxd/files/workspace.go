package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

// mostLinks is how many symbolic links a name may lead through, as for the kernel.
const mostLinks = 40

// Workspace is a directory and what is below it. Names are relative to it, with slashes; a leading slash changes nothing, and the empty
// name is the directory itself. Every operation goes through os.Root, which holds against links that change while it is under way.
type Workspace struct {
	dir  string
	root *os.Root
}

// Open returns the workspace in a directory that exists. The caller closes it.
func Open(dir string) (*Workspace, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("locating directory %q: %w", dir, err)
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, fmt.Errorf("opening directory %q: %w", dir, err)
	}
	return &Workspace{dir: absolute, root: root}, nil
}

// Close gives the directory back.
func (w *Workspace) Close() error { return w.root.Close() }

// Path is the absolute path of the directory.
func (w *Workspace) Path() string { return w.dir }

// Directory returns the absolute path of a directory in the workspace, for a program to run in. A path that begins with that of the
// workspace names the same directory as the rest of it. Whoever runs programs can go anywhere from there, so this is no boundary.
func (w *Workspace) Directory(name string) (string, error) {
	if path.IsAbs(name) {
		inside, ok := w.inside(name)
		if !ok {
			return "", outside(name)
		}
		name = inside
	}
	resolved, err := w.resolve(name, followLast)
	if err != nil {
		return "", err
	}
	info, err := w.root.Stat(resolved)
	if err != nil {
		return "", told(name, err)
	}
	if !info.IsDir() {
		return "", fault.New(fault.Premature, "%q is no directory: choose one to run in", name)
	}
	return filepath.Join(w.dir, filepath.FromSlash(resolved)), nil
}

// Exists says whether there is something of that name. A link that leads nowhere is nothing.
func (w *Workspace) Exists(name string) (bool, error) {
	resolved, err := w.resolve(name, followLast)
	if err != nil {
		return false, err
	}
	switch _, err := w.root.Stat(resolved); fault.KindOf(err) {
	case fault.NotFound, fault.Conflict:
		return false, nil
	default:
		return err == nil, told(name, err)
	}
}

// inside cuts the path of the workspace off an absolute path.
func (w *Workspace) inside(absolute string) (string, bool) {
	cleaned := path.Clean(absolute)
	if cleaned == w.dir {
		return ".", true
	}
	return strings.CutPrefix(cleaned, strings.TrimSuffix(w.dir, "/")+"/")
}

// last says what becomes of a symbolic link at the end of a name.
type last int

const (
	followLast last = iota
	keepLast
)

// resolve returns the name without symbolic links, relative to the workspace, as far as it exists; it is . for the directory itself. That
// os.Root does not do it lets links be absolute where they lead inside, and lets a write go where a link leads. It is os.Root, though, that
// holds what is done with the result inside, for links may have changed by then.
func (w *Workspace) resolve(name string, end last) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fault.New(fault.Invalid, "path %q: must not contain a zero byte", name)
	}
	pending := strings.Split(name, "/")
	resolved, links := ".", 0
	for len(pending) > 0 {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if resolved == "." {
				return "", outside(name)
			}
			resolved = path.Dir(resolved)
			continue
		}
		here := path.Join(resolved, part)
		if end == keepLast && isEnd(pending) {
			return here, nil
		}
		target, err := w.linkAt(here)
		if err != nil {
			return "", told(name, err)
		}
		if target == "" {
			resolved = here
			continue
		}
		if links++; links > mostLinks {
			return "", told(name, syscall.ELOOP)
		}
		if path.IsAbs(target) {
			inside, ok := w.inside(target)
			if !ok {
				return "", outside(name)
			}
			target, resolved = inside, "."
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	return resolved, nil
}

// isEnd says that nothing but slashes follows.
func isEnd(pending []string) bool {
	for _, part := range pending {
		if part != "" && part != "." {
			return false
		}
	}
	return true
}

// linkAt returns where a symbolic link leads, and nothing for what is no link or is not there.
func (w *Workspace) linkAt(name string) (string, error) {
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", nil
	}
	return w.root.Readlink(name)
}

func outside(name string) error {
	return fault.New(fault.Forbidden, "path %q leads out of the root: choose one below it", name)
}

// told names the path that the caller gave, not what became of it. os.Root exports no error for a name that leads outside: of all that it
// returns, that alone is neither a number of the operating system nor one of the errors of fs.
func told(name string, err error) error {
	if err == nil {
		return nil
	}
	if chosen, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("path %q: %w", name, chosen)
	}
	cause := err
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		cause = wrapped.Err
	}
	if _, numbered := errors.AsType[syscall.Errno](cause); !numbered && fault.KindOf(cause) == fault.Internal {
		return outside(name)
	}
	return fmt.Errorf("path %q: %w", name, cause)
}

// absent is told where a file among the directories of a name means that there is nothing of that name, rather than that it is in the way.
func absent(name string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.NotFound, "path %q: %v", name, syscall.ENOTDIR)
	}
	return told(name, err)
}
