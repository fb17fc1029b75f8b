package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
	"sigs.k8s.io/agent-sandbox/release/internal/render"
)

const imagesDirectory = "dist/images"

func build(ctx context.Context, args []string) error {
	release := render.Development()
	format := images.FormatText
	flags := flag.NewFlagSet("images build", flag.ExitOnError)
	root := flags.String("root", ".", "root of the repository")
	output := flags.String("output", imagesDirectory, "directory that gets <name>.tar and digests.json")
	platformNames := flags.String("platforms", images.List(images.Platforms()), "platforms of every image")
	version := flags.String("version", release.Tag, "version that programs print and images are labelled with")
	commit := flags.String("commit", images.Unknown, "hash of the commit")
	date := flags.String("date", images.Unknown, "date of the commit, RFC 3339")
	flags.StringVar(&release.ImagePrefix, "image-prefix", release.ImagePrefix, "registry and path before every image name")
	flags.StringVar(&release.Tag, "tag", release.Tag, "tag of every image")
	flags.Var(&format, "o", "`form` of the result: text or json")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := release.Validate(); err != nil {
		return err
	}
	platforms, err := images.ParsePlatforms(*platformNames)
	if err != nil {
		return err
	}
	stamp, err := images.NewStamp(*version, *commit, *date)
	if err != nil {
		return err
	}
	target := images.Target{Directory: *output, Prefix: release.ImagePrefix, Tag: release.Tag}
	built, err := images.NewBuilder(*root, stamp, time.Now, os.Stderr).Build(ctx, images.Programs(), platforms, target)
	if err != nil {
		return err
	}
	return images.WriteBuilt(os.Stdout, format, built)
}

// parse takes no arguments beside flags.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot use %q: %s takes only flags", flags.Args(), flags.Name())
	}
	return nil
}
