package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user and group are the ones that the Deployments ask for, too.
const user = "65532:65532"

// newImage returns the image for one platform: the program, and nothing else.
func newImage(name string, platform Platform, program []byte, stamp Stamp) (v1.Image, error) {
	layer, err := newLayer(name, program, stamp)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, config(name, platform, stamp))
	if err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: stamp.created}, CreatedBy: "release/cmd/images"},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	annotated, ok := mutate.Annotations(image, stamp.annotations(name)).(v1.Image)
	if !ok {
		return nil, errors.New("annotating an image gave something else")
	}
	return annotated, nil
}

func config(name string, platform Platform, stamp Stamp) *v1.ConfigFile {
	return &v1.ConfigFile{
		OS:           platform.oci().OS,
		Architecture: platform.oci().Architecture,
		Created:      v1.Time{Time: stamp.created},
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       user,
			Entrypoint: []string{"/" + name},
			WorkingDir: "/",
			Labels:     stamp.annotations(name),
		},
	}
}

// newLayer returns the layer whose only file is the program, for all to run and for nobody to change.
func newLayer(name string, program []byte, stamp Stamp) (v1.Layer, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(program)), Mode: 0o555, ModTime: stamp.created, Format: tar.FormatUSTAR,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("writing the layer's header: %w", err)
	}
	if _, err := writer.Write(program); err != nil {
		return nil, fmt.Errorf("writing the layer's file: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("ending the layer: %w", err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compressing the layer: %w", err)
	}
	return layer, nil
}

// newIndex returns the index over the images of all platforms, both in the same order.
func newIndex(name string, platforms []Platform, perPlatform []v1.Image, stamp Stamp) (v1.ImageIndex, error) {
	var index v1.ImageIndex = empty.Index
	for i, image := range perPlatform {
		platform := platforms[i].oci()
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	annotated, ok := mutate.Annotations(index, stamp.annotations(name)).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("annotating an index gave something else")
	}
	return annotated, nil
}
