package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// stored is an image that was read back from its archive.
type stored struct {
	index  v1.ImageIndex
	digest string
	// tag that it was built with.
	tag string
}

// read unpacks an archive into an empty directory, which must stay for as long as the image is used.
func read(archive, directory string) (stored, error) {
	if err := extract(archive, directory); err != nil {
		return stored{}, fmt.Errorf("reading archive %s: %w", archive, err)
	}
	top, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return stored{}, fmt.Errorf("opening archive %s: %w", archive, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return stored{}, fmt.Errorf("reading the contents of archive %s: %w", archive, err)
	}
	if len(manifest.Manifests) != 1 {
		return stored{}, fmt.Errorf("archive %s holds %d images, not one", archive, len(manifest.Manifests))
	}
	entry := manifest.Manifests[0]
	index, err := top.ImageIndex(entry.Digest)
	if err != nil {
		return stored{}, fmt.Errorf("reading the index in archive %s: %w", archive, err)
	}
	return stored{index: index, digest: entry.Digest.String(), tag: entry.Annotations[tagAnnotation]}, nil
}

// extract writes the files of an archive below directory, and never outside of it. A blob whose digest is not its
// name is an error.
func extract(archive, directory string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // its files are closed and checked one by one
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractFile(root, header.Name, reader); err != nil {
			return err
		}
	}
}

func extractFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	digest := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, digest), content)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); path.Dir(name) == "blobs/sha256" && got != path.Base(name) {
		return fmt.Errorf("%s is damaged: its digest is %s", name, got)
	}
	return nil
}
