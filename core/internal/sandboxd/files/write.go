package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

const (
	// DefaultMode is that of files of which nothing else is said.
	DefaultMode fs.FileMode = 0o644
	// parentMode is that of directories which a write needs and does not find.
	parentMode fs.FileMode = 0o755
)

// Write makes a file of what body holds, and the directories it lies in. Nobody ever sees a part of it under its name: the content goes to a
// file beside it first, which takes the name once the disk has all of it. So it never writes into a file that is there, which may be a hard
// link to something else. Where the name is a link that leads inside, it writes what the link leads to.
func (w *Workspace) Write(name string, mode fs.FileMode, body io.Reader) error {
	if strings.HasSuffix(name, "/") {
		return fault.New(fault.Invalid, "path %q: must not end with a slash, for it names a file", name)
	}
	resolved, err := w.resolve(name, followLast)
	if err != nil {
		return err
	}
	parent, base := path.Dir(resolved), path.Base(resolved)
	if err := w.root.MkdirAll(parent, parentMode); err != nil {
		return told(name, err)
	}
	dir, err := w.root.OpenRoot(parent)
	if err != nil {
		return told(name, err)
	}
	err = write(dir, base, mode, body)
	return told(name, errors.Join(err, dir.Close()))
}

func write(dir *os.Root, base string, mode fs.FileMode, body io.Reader) error {
	// Rename would find out, too, but only after all of the body.
	if info, err := dir.Lstat(base); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	temporary := ".sandboxd-" + rand.Text() + ".part"
	file, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(fill(file, mode, body), file.Close())
	if err == nil {
		err = dir.Rename(temporary, base)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temporary))
	}
	return sync(dir)
}

func fill(file *os.File, mode fs.FileMode, body io.Reader) error {
	if _, err := io.Copy(file, source{body}); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	return file.Sync()
}

// source tells an error of a body from one of the disk.
type source struct{ body io.Reader }

// Read is that of the body.
func (s source) Read(into []byte) (int, error) {
	n, err := s.body.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fault.New(fault.Invalid, "reading the body: %v", err)
	}
	return n, err
}

// sync has the disk know the new name, where its file system lets directories be synchronized.
func sync(dir *os.Root) error {
	opened, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = opened.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, opened.Close())
}

// Remove removes a file, an empty directory, or a link itself.
func (w *Workspace) Remove(name string) error {
	resolved, err := w.resolve(name, keepLast)
	if err != nil {
		return err
	}
	if resolved == "." {
		return fault.New(fault.Conflict, "path %q is the root, which can only be emptied: ask for a recursive removal", name)
	}
	return absent(name, w.root.Remove(resolved))
}

// RemoveAll removes also what is below a directory. It follows no link. The root itself stays, and is empty then.
func (w *Workspace) RemoveAll(name string) error {
	resolved, err := w.resolve(name, keepLast)
	if err != nil {
		return err
	}
	if resolved == "." {
		return w.empty()
	}
	// RemoveAll is content with what is not there.
	if _, err := w.root.Lstat(resolved); err != nil {
		return absent(name, err)
	}
	return told(name, w.root.RemoveAll(resolved))
}

func (w *Workspace) empty() error {
	dir, err := w.root.Open(".")
	if err != nil {
		return fmt.Errorf("opening the root: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	err = errors.Join(err, dir.Close())
	for _, name := range names {
		err = errors.Join(err, told(name, w.root.RemoveAll(name)))
	}
	return err
}
