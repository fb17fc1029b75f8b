// Command render writes a release asset from its kustomize overlay, or compares all assets with their golden
// copies.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
	"sigs.k8s.io/agent-sandbox/release/internal/golden"
	"sigs.k8s.io/agent-sandbox/release/internal/render"
)

type options struct {
	root    string
	overlay string
	output  string
	check   bool
	digests string
	release render.Release
}

func main() {
	opts := options{release: render.Development()}
	flag.StringVar(&opts.root, "root", ".", "root of the repository")
	flag.StringVar(&opts.overlay, "overlay", "", "overlay to render; all of them if empty")
	flag.StringVar(&opts.output, "output", "dist", "directory that gets <overlay>.yaml")
	flag.BoolVar(&opts.check, "check", false, "write nothing; compare the development render with release/testdata")
	flag.StringVar(&opts.release.ImagePrefix, "image-prefix", opts.release.ImagePrefix, "registry and path before every image name")
	flag.StringVar(&opts.release.Tag, "tag", opts.release.Tag, "tag of every image, and version of every object")
	flag.StringVar(&opts.digests, "digests", "", "file of digests, as images build writes it, that images are pinned to beside the tag")
	flag.Parse()
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func run(opts options) error {
	if opts.digests != "" {
		read, err := digests.Read(opts.digests)
		if err != nil {
			return err
		}
		opts.release.Digests = read
	}
	overlays := render.Overlays()
	if opts.overlay != "" {
		overlay, err := render.Find(opts.overlay)
		if err != nil {
			return err
		}
		overlays = []render.Overlay{overlay}
	}
	for _, overlay := range overlays {
		asset, err := render.Render(opts.root, overlay, opts.release)
		if err != nil {
			return err
		}
		if opts.check {
			err = golden.Compare(filepath.Join(opts.root, "release", "testdata", overlay.Name+".yaml"), asset, "make golden")
		} else {
			err = golden.Write(filepath.Join(opts.output, overlay.Name+".yaml"), asset)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
