package protobuf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// API is one .proto file. All paths have forward slashes.
type API struct {
	// Dir is what File, and every path by which it imports another, is relative to; itself relative to the root of the repository.
	Dir string
	// File gets its Go code beside it. Its name is part of what reflection tells clients.
	File string
}

// APIs is the table of everything that is generated.
func APIs() []API {
	return []API{{Dir: "core/api", File: "process/v1/process.proto"}}
}

// Plugins are the programs that write Go code, in the directory that holds them.
func Plugins() []string { return []string{"protoc-gen-go", "protoc-gen-go-grpc"} }

// Generate writes the Go code of one API of the repository at root with each of the plugins, which are paths of programs.
func Generate(ctx context.Context, root string, api API, plugins []string) error {
	dir := filepath.Join(root, filepath.FromSlash(api.Dir))
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, api.File)
	if err != nil {
		return fmt.Errorf("compiling %s/%s: %w", api.Dir, api.File, err)
	}
	request, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{api.File},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      dependenciesFirst(files[0], map[string]bool{}),
	})
	if err != nil {
		return fmt.Errorf("encoding %s/%s: %w", api.Dir, api.File, err)
	}
	for _, plugin := range plugins {
		if err := run(ctx, plugin, request, dir); err != nil {
			return fmt.Errorf("generating the code of %s/%s by %s: %w", api.Dir, api.File, filepath.Base(plugin), err)
		}
	}
	return nil
}

// dependenciesFirst is the order that plugins ask for.
func dependenciesFirst(file linker.File, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return nil
	}
	seen[file.Path()] = true
	var all []*descriptorpb.FileDescriptorProto
	for i := range file.Imports().Len() {
		all = append(all, dependenciesFirst(file.FindImportByPath(file.Imports().Get(i).Path()), seen)...)
	}
	return append(all, protoutil.ProtoFromFileDescriptor(file))
}

// run writes what one plugin answers to below dir.
func run(ctx context.Context, plugin string, request []byte, dir string) error {
	command := exec.CommandContext(ctx, plugin)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return fmt.Errorf("reading its answer: %w", err)
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.GetFile() {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(file.GetName())), []byte(file.GetContent()), 0o644); err != nil {
			return fmt.Errorf("writing a generated file: %w", err)
		}
	}
	return nil
}
