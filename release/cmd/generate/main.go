// Command generate writes the generated files of every module: deepcopy functions, CustomResourceDefinitions
// and roles; the code of gRPC APIs; of the chart, which takes them over; and the reference of the API, which tells what is in them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"sigs.k8s.io/agent-sandbox/release/internal/apidocs"
	"sigs.k8s.io/agent-sandbox/release/internal/chart"
	"sigs.k8s.io/agent-sandbox/release/internal/generate"
	"sigs.k8s.io/agent-sandbox/release/internal/protobuf"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	controllerGen := flag.String("controller-gen", "bin/controller-gen", "path of the controller-gen program")
	plugins := flag.String("plugins", "bin", "directory of the programs protoc-gen-go and protoc-gen-go-grpc")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *controllerGen, *plugins)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, controllerGen, plugins string) error {
	generator, err := generate.New(root, controllerGen, os.Stderr)
	if err != nil {
		return err
	}
	for _, module := range generate.Modules() {
		if err := generator.Run(ctx, module); err != nil {
			return err
		}
	}
	if err := generateProtobuf(ctx, root, plugins); err != nil {
		return err
	}
	if err := chart.Generate(root); err != nil {
		return err
	}
	return apidocs.Generate(root)
}

func generateProtobuf(ctx context.Context, root, plugins string) error {
	directory, err := filepath.Abs(plugins)
	if err != nil {
		return fmt.Errorf("locating the plugins: %w", err)
	}
	var programs []string
	for _, name := range protobuf.Plugins() {
		programs = append(programs, filepath.Join(directory, name))
	}
	for _, api := range protobuf.APIs() {
		if err := protobuf.Generate(ctx, root, api, programs); err != nil {
			return err
		}
	}
	return nil
}
