package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
)

// Module says what is generated from one Go module. All paths have forward slashes.
type Module struct {
	// Dir is the module's directory below the root of the repository.
	Dir string
	// API is the pattern of its API package, relative to Dir; empty where no API of the module comes with the role.
	API string
	// Markers are the patterns of the packages whose RBAC markers make the role, relative to Dir, parted by semicolons.
	Markers string
	// Base is the kustomize base below the root: it gets crd/<group>_<plural>.yaml and rbac/role.yaml.
	Base string
	// Role is the name of the ClusterRole, and of the Role where a marker names a namespace.
	Role string
}

// Modules is the table of everything that is generated.
func Modules() []Module {
	return []Module{
		{Dir: "core", API: "./api/v1beta1", Markers: "./cmd/controller/...;./internal/sandbox/...;./internal/quota/...", Base: "kustomize/base/core", Role: "agent-sandbox-controller"},
		{Dir: "extensions", API: "./api/v1beta1", Markers: "./...", Base: "kustomize/base/extensions", Role: "agent-sandbox-extensions-controller"},
		{Dir: "core", Markers: "./cmd/router/...;./internal/router/...", Base: "kustomize/base/router", Role: "sandbox-router"},
	}
}

// Generator runs controller-gen.
type Generator struct {
	root          string
	controllerGen string
	stderr        io.Writer
}

// New returns a Generator for the repository at root that runs the program controllerGen, with its complaints
// written to stderr.
func New(root, controllerGen string, stderr io.Writer) (*Generator, error) {
	program, err := filepath.Abs(controllerGen)
	if err != nil {
		return nil, fmt.Errorf("locating controller-gen: %w", err)
	}
	return &Generator{root: root, controllerGen: program, stderr: stderr}, nil
}

// Run generates everything of one module.
func (g *Generator) Run(ctx context.Context, module Module) error {
	if err := checkMarkers(os.DirFS(filepath.Join(g.root, filepath.FromSlash(module.Dir)))); err != nil {
		return fmt.Errorf("module %s: %w", module.Dir, err)
	}
	scratch, err := os.MkdirTemp("", "generate-")
	if err != nil {
		return fmt.Errorf("making a scratch directory: %w", err)
	}
	err = g.run(ctx, module, scratch)
	if removed := os.RemoveAll(scratch); removed != nil {
		err = errors.Join(err, fmt.Errorf("removing the scratch directory: %w", removed))
	}
	return err
}

func (g *Generator) run(ctx context.Context, module Module, scratch string) error {
	crds, role := filepath.Join(scratch, "crd"), filepath.Join(scratch, "rbac")
	base := filepath.Join(g.root, filepath.FromSlash(module.Base))
	if module.API != "" {
		// Descriptions are stripped afterwards, by position: controller-gen can only shorten all of them.
		if err := g.controllerGenerate(ctx, module, "object", "crd", "paths="+module.API, "output:crd:dir="+crds); err != nil {
			return err
		}
		if err := replaceCRDs(crds, filepath.Join(base, "crd")); err != nil {
			return fmt.Errorf("module %s: %w", module.Dir, err)
		}
	}
	if err := g.controllerGenerate(ctx, module, "rbac:roleName="+module.Role, "paths="+module.Markers, "output:rbac:dir="+role); err != nil {
		return err
	}
	if err := copyRole(filepath.Join(role, "role.yaml"), filepath.Join(base, "rbac", "role.yaml")); err != nil {
		return fmt.Errorf("module %s, packages %s: %w", module.Dir, module.Markers, err)
	}
	return nil
}

func (g *Generator) controllerGenerate(ctx context.Context, module Module, args ...string) error {
	command := exec.CommandContext(ctx, g.controllerGen, args...)
	command.Dir = filepath.Join(g.root, filepath.FromSlash(module.Dir))
	command.Stdout, command.Stderr = g.stderr, g.stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("running controller-gen %s in module %s: %w", args[0], module.Dir, err)
	}
	return nil
}

// replaceCRDs makes the processed files of from the only CustomResourceDefinitions in to, so that the file of a
// kind that was renamed or removed goes too.
func replaceCRDs(from, to string) error {
	fresh, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing generated CustomResourceDefinitions: %w", err)
	}
	if len(fresh) == 0 {
		return errors.New("controller-gen found no kind: does the API package carry +groupName and +kubebuilder:object:root?")
	}
	stale, err := filepath.Glob(filepath.Join(to, "*_*.yaml"))
	if err != nil {
		return fmt.Errorf("listing earlier CustomResourceDefinitions: %w", err)
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing an earlier CustomResourceDefinition: %w", err)
		}
	}
	for _, path := range fresh {
		raw, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading a generated CustomResourceDefinition: %w", err)
		}
		processed, err := crdschema.Process(raw)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(to, filepath.Base(path)), processed); err != nil {
			return err
		}
	}
	return nil
}

func copyRole(from, to string) error {
	role, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no +kubebuilder:rbac marker, so there is no role to write")
	}
	if err != nil {
		return fmt.Errorf("reading the generated role: %w", err)
	}
	return writeFile(to, role)
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of a generated file: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("writing a generated file: %w", err)
	}
	return nil
}
