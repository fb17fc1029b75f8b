// Command template prints the objects that the chart installs, in the order in which they can be applied.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"sigs.k8s.io/agent-sandbox/release/helm"
)

type options struct {
	directory string
	release   helm.Release
	values    map[string]any
}

func main() {
	opts := options{values: map[string]any{}}
	flag.StringVar(&opts.directory, "chart", "../chart", "directory of the chart")
	flag.StringVar(&opts.release.Name, "name", "agent-sandbox", "name of the release")
	flag.StringVar(&opts.release.Namespace, "namespace", "agent-sandbox-system", "namespace of the release")
	flag.BoolVar(&opts.release.Upgrade, "is-upgrade", false, "render an upgrade")
	flag.Func("values", "file of values; the last one wins", opts.read)
	flag.Func("set", "value as core.replicas=2; the last one wins", opts.set)
	flag.Parse()
	if err := run(context.Background(), opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "template:", err)
		os.Exit(1)
	}
}

func (o *options) set(text string) error { return strvals.ParseInto(text, o.values) }

func (o *options) read(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	values, err := loader.LoadValues(file)
	o.values = loader.MergeMaps(o.values, values)
	return err
}

func run(ctx context.Context, opts options, out io.Writer) error {
	source, err := helm.Load(opts.directory)
	if err != nil {
		return err
	}
	files, err := helm.Files(ctx, source, opts.release, opts.values)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, helm.Manifest(files))
	return err
}
