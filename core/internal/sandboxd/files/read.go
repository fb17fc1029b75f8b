package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

// File is a regular file or a directory that is open for reading.
type File struct {
	*os.File
	// Info is of the file that is open, whatever its name has come to mean since.
	Info fs.FileInfo
	// Name has one slash at its begin and no link in it.
	Name      string
	resolved  string
	workspace *Workspace
}

// Entry is one of a directory.
type Entry struct {
	Name string
	// Size is in bytes.
	Size      int64
	Directory bool
	Modified  time.Time
	// Mode has the permissions alone.
	Mode fs.FileMode
}

// Kind is what the APIs call the type of an entry: "directory", or "file" for anything else.
func (e Entry) Kind() string {
	if e.Directory {
		return "directory"
	}
	return "file"
}

// Open opens a regular file or a directory. The caller closes it.
func (w *Workspace) Open(name string) (*File, error) {
	resolved, err := w.resolve(name, followLast)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, a named pipe would hold the caller until somebody writes to it.
	opened, err := w.root.OpenFile(resolved, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, absent(name, err)
	}
	info, err := opened.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fault.New(fault.Invalid, "is neither a file nor a directory, and cannot be read")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("path %q: %w", name, err), opened.Close())
	}
	return &File{File: opened, Info: info, Name: path.Join("/", resolved), resolved: resolved, workspace: w}, nil
}

// Entries are those of a directory by their names, without links that lead out of the workspace. Each is looked at when it is asked for;
// one that is gone by then is left out.
func (f *File) Entries() (iter.Seq[Entry], error) {
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, told(f.Name, err)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return func(yield func(Entry) bool) {
		for _, name := range names {
			info, ok := f.workspace.look(path.Join(f.resolved, name))
			if ok && !yield(entryOf(name, info)) {
				return
			}
		}
	}, nil
}

func entryOf(name string, info fs.FileInfo) Entry {
	return Entry{Name: name, Size: info.Size(), Directory: info.IsDir(), Modified: info.ModTime(), Mode: info.Mode().Perm()}
}

// look is false for what is to be left out. Of a link that leads nowhere, it tells the link itself.
func (w *Workspace) look(name string) (fs.FileInfo, bool) {
	itself, err := w.root.Lstat(name)
	if err != nil || itself.Mode()&fs.ModeSymlink == 0 {
		return itself, err == nil
	}
	resolved, err := w.resolve(name, followLast)
	if err != nil {
		return nil, false
	}
	target, err := w.root.Stat(resolved)
	if errors.Is(err, fs.ErrNotExist) {
		return itself, true
	}
	return target, err == nil
}
