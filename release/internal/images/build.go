package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
)

// Target says where images are written and what they are called.
type Target struct {
	// Directory gets <program>.tar for each program, and digests.json.
	Directory string
	// Prefix is the registry and path that stand before every image name.
	Prefix string
	// Tag of every image.
	Tag string
}

// Built is an image that was written.
type Built struct {
	// Image is its full name with the tag.
	Image string `json:"image"`
	// Platforms it is for, such as linux/amd64.
	Platforms []string `json:"platforms"`
	// Archive is the path of its file.
	Archive string `json:"archive"`
	// Size of the archive in bytes.
	Size int64 `json:"size"`
	// Digest of its index, sha256:…
	Digest string `json:"digest"`
}

// Builder compiles programs and makes images of them.
type Builder struct {
	root     string
	stamp    Stamp
	now      func() time.Time
	progress io.Writer
}

// NewBuilder returns a Builder for the repository at root that tells progress, and what the go command says, to
// progress.
func NewBuilder(root string, stamp Stamp, now func() time.Time, progress io.Writer) *Builder {
	return &Builder{root: root, stamp: stamp, now: now, progress: progress}
}

// Build writes the image of every program for all platforms, and at last the file of digests. It stops at the first
// error.
func (b *Builder) Build(ctx context.Context, programs []Program, platforms []Platform, target Target) ([]Built, error) {
	if err := os.MkdirAll(target.Directory, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the images: %w", err)
	}
	var built []Built
	digestOf := map[string]string{}
	for _, program := range programs {
		index, err := b.index(ctx, program, platforms)
		if err != nil {
			return nil, err
		}
		row, err := write(program.Name, index, target)
		if err != nil {
			return nil, err
		}
		for _, platform := range platforms {
			row.Platforms = append(row.Platforms, platform.String())
		}
		built = append(built, row)
		digestOf[program.Name] = row.Digest
	}
	return built, digests.Write(filepath.Join(target.Directory, digests.FileName), digestOf)
}

func (b *Builder) index(ctx context.Context, program Program, platforms []Platform) (v1.ImageIndex, error) {
	var perPlatform []v1.Image
	for _, platform := range platforms {
		fmt.Fprintf(b.progress, "%s %s: compiling (minutes the first time, then seconds)\n", program.Name, platform)
		start := b.now()
		content, err := b.compile(ctx, program, platform)
		if err != nil {
			return nil, err
		}
		image, err := newImage(program.Name, platform, content, b.stamp)
		if err != nil {
			return nil, fmt.Errorf("making image %s for %s: %w", program.Name, platform, err)
		}
		fmt.Fprintf(b.progress, "%s %s: done in %.1f s\n", program.Name, platform, b.now().Sub(start).Seconds())
		perPlatform = append(perPlatform, image)
	}
	index, err := newIndex(program.Name, platforms, perPlatform, b.stamp)
	if err != nil {
		return nil, fmt.Errorf("making the index of image %s: %w", program.Name, err)
	}
	return index, nil
}

func (b *Builder) compile(ctx context.Context, program Program, platform Platform) (content []byte, err error) {
	scratch, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	binary := filepath.Join(scratch, program.Name)
	command := exec.CommandContext(ctx, "go", "build", "-ldflags", b.stamp.linkerFlags(), "-o", binary, program.Package)
	command.Dir = b.root
	command.Env = append(os.Environ(), platform.environment()...)
	command.Stdout, command.Stderr = b.progress, b.progress
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("compiling %s for %s: %w", program.Package, platform, err)
	}
	content, err = os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the compiled %s: %w", program.Name, err)
	}
	if err := platform.check(content); err != nil {
		return nil, fmt.Errorf("checking %s for %s: %w", program.Name, platform, err)
	}
	return content, nil
}

func write(name string, index v1.ImageIndex, target Target) (Built, error) {
	repository := target.Prefix + "/" + name
	files, err := contents(index, repository, target.Tag)
	if err != nil {
		return Built{}, fmt.Errorf("collecting the files of image %s: %w", name, err)
	}
	archive := filepath.Join(target.Directory, name+".tar")
	size, err := writeArchive(archive, files)
	if err != nil {
		return Built{}, err
	}
	digest, err := index.Digest()
	if err != nil {
		return Built{}, fmt.Errorf("reading the digest of image %s: %w", name, err)
	}
	return Built{Image: repository + ":" + target.Tag, Archive: archive, Size: size, Digest: digest.String()}, nil
}
