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
	"strings"
)

var (
	// ErrUnsafe : the stream has something that it would have no business with.
	ErrUnsafe = errors.New("unsafe name in what the container sends")
	// ErrNothing : the stream is empty.
	ErrNothing = errors.New("the container sent nothing")
)

// Unpack reads a tar stream of one file or directory, called from in it, and writes that as to, a name in root. Names that are absolute,
// lead upwards, or are not below from end it with ErrUnsafe. Links are left out, since they can lead anywhere, and so is what is neither
// file nor directory. The root keeps links that are there already from leading out of it. Modes are taken over but for setuid, setgid
// and sticky bits. An empty stream is ErrNothing.
func Unpack(r io.Reader, root *os.Root, from, to string, skipped Skipped) error {
	stream := tar.NewReader(r)
	entries := 0
	for {
		header, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading what the container sends: %w", err)
		}
		place, err := placeOf(header.Name, from, to)
		if err != nil {
			return err
		}
		if err := unpackEntry(stream, root, header, place, skipped); err != nil {
			return fmt.Errorf("writing %q: %w", place, err)
		}
		entries++
	}
	if entries == 0 {
		return ErrNothing
	}
	return nil
}

// placeOf is where an entry of the stream goes.
func placeOf(name, from, to string) (string, error) {
	if path.IsAbs(name) || strings.ContainsRune(name, '\\') && filepath.Separator == '\\' {
		return "", fmt.Errorf("%w: %q is absolute", ErrUnsafe, name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("%w: %q leads upwards", ErrUnsafe, name)
		}
	}
	clean := path.Clean(name)
	below, inside := strings.CutPrefix(clean+"/", from+"/")
	if !inside {
		return "", fmt.Errorf("%w: %q was not asked for", ErrUnsafe, name)
	}
	place := filepath.Join(to, filepath.FromSlash(below))
	if !filepath.IsLocal(place) {
		return "", fmt.Errorf("%w: %q has no place on this machine", ErrUnsafe, name)
	}
	return place, nil
}

func unpackEntry(stream io.Reader, root *os.Root, header *tar.Header, place string, skipped Skipped) error {
	mode := header.FileInfo().Mode().Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		// The owner has to get in, or nothing could be written below.
		return root.MkdirAll(place, mode|0o700)
	case tar.TypeReg:
		if err := root.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return err
		}
		return unpackContent(stream, root, place, mode)
	case tar.TypeSymlink, tar.TypeLink:
		skipped(place, fmt.Sprintf("it is a link to %q", header.Linkname))
	default:
		skipped(place, "it is neither a file nor a directory")
	}
	return nil
}

func unpackContent(stream io.Reader, root *os.Root, place string, mode fs.FileMode) (err error) {
	file, err := root.OpenFile(place, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(file, stream)
	return err
}
