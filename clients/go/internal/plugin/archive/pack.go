package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Skipped is told of each file that is left out, and why.
type Skipped func(name, why string)

// Pack writes the file or directory at local as a tar stream, in which it is called name. Links are kept as links, but for local itself,
// which is followed. What is neither file, directory nor link is left out.
func Pack(w io.Writer, local, name string, skipped Skipped) error {
	top, err := filepath.EvalSymlinks(local)
	if err != nil {
		return fmt.Errorf("reading %q: %w", local, err)
	}
	stream := tar.NewWriter(w)
	err = filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		return packEntry(stream, file, path.Join(name, filepath.ToSlash(below)), entry, skipped)
	})
	if err != nil {
		return fmt.Errorf("packing %q: %w", local, err)
	}
	if err := stream.Close(); err != nil {
		return fmt.Errorf("packing %q: %w", local, err)
	}
	return nil
}

func packEntry(stream *tar.Writer, file, name string, entry fs.DirEntry, skipped Skipped) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	switch kind := info.Mode().Type(); kind {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	default:
		skipped(name, "it is neither a file, a directory nor a link")
		return nil
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	// Who owns it here means nothing there.
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = name, 0, 0, "", ""
	if info.IsDir() {
		header.Name += "/"
	}
	if err := stream.WriteHeader(header); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	return packContent(stream, file, header.Size)
}

func packContent(stream *tar.Writer, file string, size int64) (err error) {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	// A file that grows meanwhile is taken as long as it was; one that shrinks is an error.
	if _, err := io.CopyN(stream, content, size); err != nil {
		return fmt.Errorf("reading %q, which may have changed meanwhile: %w", file, err)
	}
	return nil
}
