package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

func push(ctx context.Context, args []string) error {
	var destination images.Destination
	format := images.FormatText
	flags := flag.NewFlagSet("images push", flag.ExitOnError)
	input := flags.String("input", imagesDirectory, "directory that build wrote to")
	flags.StringVar(&destination.Prefix, "to", "", "registry and path before every image name, such as localhost:5000 or example.com/team")
	flags.StringVar(&destination.Tag, "tag", "", "tag of every image; the one of build if empty")
	flags.Var(&format, "o", "`form` of the result: text or json")
	if err := parse(flags, args); err != nil {
		return err
	}
	if destination.Prefix == "" {
		return errors.New("say where to push: --to REGISTRY[/path] (make push TO=...)")
	}
	pushed, err := images.NewPusher(authn.DefaultKeychain, time.Now, os.Stderr).Push(ctx, *input, destination)
	if err != nil {
		return err
	}
	return images.WritePushed(os.Stdout, format, pushed)
}
