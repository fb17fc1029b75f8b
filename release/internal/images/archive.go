package images

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// fullNameAnnotation is read by containerd, Docker and Podman, tagAnnotation by everything that follows the OCI
	// image specification.
	fullNameAnnotation = "io.containerd.image.name"
	tagAnnotation      = "org.opencontainers.image.ref.name"

	layoutFile = "oci-layout"
	indexFile  = "index.json"
	dockerFile = "manifest.json"
)

// contents returns every file of an archive: the OCI image layout of an index that is called repository:tag. A
// Docker without containerd's image store knows only manifest.json, which can name one platform: it is the first.
func contents(index v1.ImageIndex, repository, tag string) (map[string][]byte, error) {
	files := map[string][]byte{layoutFile: []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("listing the images of an index: %w", err)
	}
	docker := tarball.Manifest{}
	for _, entry := range manifest.Manifests {
		image, err := index.Image(entry.Digest)
		if err != nil {
			return nil, fmt.Errorf("reading an image: %w", err)
		}
		described, err := addImage(files, image)
		if err != nil {
			return nil, fmt.Errorf("reading image %s: %w", entry.Digest, err)
		}
		described.RepoTags = []string{repository + ":" + tag}
		docker = append(docker, described)
	}
	descriptor, err := addIndex(files, index)
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	descriptor.Annotations = map[string]string{fullNameAnnotation: repository + ":" + tag, tagAnnotation: tag}
	top := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{descriptor}}
	for name, value := range map[string]any{indexFile: top, dockerFile: docker[:min(1, len(docker))]} {
		if files[name], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return files, nil
}

func blobName(digest v1.Hash) string {
	return "blobs/" + digest.Algorithm + "/" + digest.Hex
}

func addIndex(files map[string][]byte, index v1.ImageIndex) (v1.Descriptor, error) {
	descriptor, err := partial.Descriptor(index)
	if err != nil {
		return v1.Descriptor{}, err
	}
	files[blobName(descriptor.Digest)], err = index.RawManifest()
	return *descriptor, err
}

func addImage(files map[string][]byte, image v1.Image) (tarball.Descriptor, error) {
	digest, err := image.Digest()
	if err != nil {
		return tarball.Descriptor{}, err
	}
	if files[blobName(digest)], err = image.RawManifest(); err != nil {
		return tarball.Descriptor{}, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return tarball.Descriptor{}, err
	}
	described := tarball.Descriptor{Config: blobName(manifest.Config.Digest)}
	if files[described.Config], err = image.RawConfigFile(); err != nil {
		return tarball.Descriptor{}, err
	}
	layers, err := image.Layers()
	if err != nil {
		return tarball.Descriptor{}, err
	}
	for i, layer := range layers {
		name := blobName(manifest.Layers[i].Digest)
		described.Layers = append(described.Layers, name)
		if files[name], err = compressed(layer); err != nil {
			return tarball.Descriptor{}, err
		}
	}
	return described, nil
}

func compressed(layer v1.Layer) ([]byte, error) {
	reader, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

// writeArchive makes the file at path a tar of files, with nothing in it that is not in them: sorted by name, dated
// 1970-01-01. It returns the size in bytes.
func writeArchive(path string, files map[string][]byte) (int64, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("creating an archive: %w", err)
	}
	err = writeEntries(file, files)
	info, statErr := file.Stat()
	if err := errors.Join(err, statErr, file.Close()); err != nil {
		return 0, fmt.Errorf("writing archive %s: %w", path, err)
	}
	return info.Size(), nil
}

func writeEntries(w io.Writer, files map[string][]byte) error {
	writer := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		if _, err := writer.Write(files[name]); err != nil {
			return err
		}
	}
	return writer.Close()
}
