// Command generate writes the generated files of every module: deepcopy functions, CustomResourceDefinitions
// and roles; of the chart, which takes them over; and the reference of the API, which tells what is in them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sigs.k8s.io/agent-sandbox/release/internal/apidocs"
	"sigs.k8s.io/agent-sandbox/release/internal/chart"
	"sigs.k8s.io/agent-sandbox/release/internal/generate"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	controllerGen := flag.String("controller-gen", "bin/controller-gen", "path of the controller-gen program")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *controllerGen)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, controllerGen string) error {
	generator, err := generate.New(root, controllerGen, os.Stderr)
	if err != nil {
		return err
	}
	for _, module := range generate.Modules() {
		if err := generator.Run(ctx, module); err != nil {
			return err
		}
	}
	if err := chart.Generate(root); err != nil {
		return err
	}
	return apidocs.Generate(root)
}
