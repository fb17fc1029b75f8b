package images_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
	"sigs.k8s.io/agent-sandbox/release/internal/render"
)

const root = "../../.."

func TestEveryProgramIsAMainPackage(t *testing.T) {
	for _, program := range images.Programs() {
		t.Run(program.Name, func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(program.Package), "main.go")
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if file.Name.Name != "main" {
				t.Errorf("%s is package %s", path, file.Name.Name)
			}
		})
	}
}

func TestEveryImageOfAnAssetIsBuilt(t *testing.T) {
	built := map[string]bool{}
	for _, program := range images.Programs() {
		built[program.Name] = true
	}
	for _, overlay := range render.Overlays() {
		for _, image := range overlay.Images {
			if !built[image] {
				t.Errorf("%s.yaml installs image %s, which nothing builds", overlay.Name, image)
			}
		}
	}
}
