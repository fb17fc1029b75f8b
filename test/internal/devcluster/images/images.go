// Package images puts programs into images, for a node that can pull none.
package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	containerregistry "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
)

// The names of the images.
const (
	// Pause is that of a Pod's own container.
	Pause = "devcluster.agents.x-k8s.io/pause:v1"
	// Probe is that of the program for tests: its entry point is /probe, which tells what it does.
	Probe = "devcluster.agents.x-k8s.io/probe:v1"
	// CoreDNS is that of the cluster's resolver.
	CoreDNS = "devcluster.agents.x-k8s.io/coredns:v1"
)

// nobody is the user of an image, unless its Pod names another.
const nobody = "65532:65532"

// Write makes an archive of each image in a directory, and returns their paths. program returns where a program is.
func Write(dir string, program func(name string) string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating a directory for images: %w", err)
	}
	var archives []string
	for _, image := range []struct {
		file, tag, program string
		command            []string
	}{
		{"pause.tar", Pause, build.Probe, []string{"/probe", "pause"}},
		{"probe.tar", Probe, build.Probe, []string{"/probe"}},
		{"coredns.tar", CoreDNS, build.CoreDNS, []string{"/coredns"}},
	} {
		archive := filepath.Join(dir, image.file)
		if err := write(archive, image.tag, program(image.program), image.command); err != nil {
			return nil, fmt.Errorf("making image %s: %w", image.tag, err)
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// write makes an image whose only layer has a static program, and what every program expects beside it.
func write(archive, tag, program string, entryPoint []string) error {
	reference, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	var files bytes.Buffer
	if err := layer(&files, program, entryPoint[0]); err != nil {
		return err
	}
	added, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, added)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = runtime.GOOS, runtime.GOARCH
	config.Config = containerregistry.Config{Entrypoint: entryPoint, User: nobody, WorkingDir: "/", Env: []string{"PATH=/"}}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	return tarball.WriteToFile(archive, reference, image)
}

func layer(to io.Writer, program, path string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	for _, header := range []*tar.Header{
		{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: path[1:], Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))},
	} {
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
	}
	_, err = archive.Write(data)
	return errors.Join(err, archive.Close())
}
