package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
)

// Destination says where images are pushed to.
type Destination struct {
	// Prefix is the registry, and if need be a path in it, that stand before every image name.
	Prefix string
	// Tag of every image; if empty, the one that it was built with.
	Tag string
}

// Pushed is an image that a registry has.
type Pushed struct {
	// Reference is its full name with the tag.
	Reference string `json:"reference"`
	// Digest of its index, sha256:…
	Digest string `json:"digest"`
}

// Pusher sends built images to registries.
type Pusher struct {
	keychain authn.Keychain
	now      func() time.Time
	progress io.Writer
}

// NewPusher returns a Pusher that logs in with what keychain holds and tells its progress to progress.
func NewPusher(keychain authn.Keychain, now func() time.Time, progress io.Writer) *Pusher {
	return &Pusher{keychain: keychain, now: now, progress: progress}
}

// Push sends every image that Build wrote to directory, all platforms of it. It stops at the first error, whose
// text is one line and says what to do.
func (p *Pusher) Push(ctx context.Context, directory string, destination Destination) ([]Pushed, error) {
	digestOf, err := digests.Read(filepath.Join(directory, digests.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no image is built in %s: run make images first: %w", directory, err)
	}
	if err != nil {
		return nil, err
	}
	var pushed []Pushed
	for _, image := range slices.Sorted(maps.Keys(digestOf)) {
		row, err := p.pushImage(ctx, directory, image, digestOf[image], destination)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, row)
	}
	return pushed, nil
}

func (p *Pusher) pushImage(ctx context.Context, directory, image, digest string, destination Destination) (pushed Pushed, err error) {
	scratch, err := os.MkdirTemp("", "images-")
	if err != nil {
		return Pushed{}, fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	built, err := read(filepath.Join(directory, image+".tar"), scratch)
	if err != nil {
		return Pushed{}, fmt.Errorf("image %s is not usable: run make images again: %w", image, err)
	}
	if built.digest != digest {
		return Pushed{}, fmt.Errorf("the archive of image %s holds %s, but %s says %s: run make images again", image, built.digest, digests.FileName, digest)
	}
	reference, err := destination.reference(image, built.tag)
	if err != nil {
		return Pushed{}, err
	}
	fmt.Fprintf(p.progress, "%s: pushing\n", reference)
	start := p.now()
	if err := remote.WriteIndex(reference, built.index, remote.WithContext(ctx), remote.WithAuthFromKeychain(p.keychain)); err != nil {
		return Pushed{}, explain(reference, err)
	}
	fmt.Fprintf(p.progress, "%s: done in %.1f s\n", reference, p.now().Sub(start).Seconds())
	return Pushed{Reference: reference.String(), Digest: digest}, nil
}

// reference is strict: a prefix without a host would otherwise mean Docker Hub.
func (d Destination) reference(image, builtTag string) (name.Tag, error) {
	tag := d.Tag
	if tag == "" {
		tag = builtTag
	}
	reference, err := name.NewTag(d.Prefix+"/"+image+":"+tag, name.StrictValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("%q is no place for images: name a registry by its host and if need be a path, such as localhost:5000 or example.com/team: %w", d.Prefix, err)
	}
	return reference, nil
}
