package install

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Sandboxd is the daemon in a sandbox.
const Sandboxd = "sandboxd"

// Build says how to build a program.
type Build struct {
	// Root is the repository's.
	Root string
	// Program is CoreController, ExtensionsController or Sandboxd; empty: CoreController.
	Program string
	// Out is the directory to build into; empty: bin/ below Root.
	Out string
	// Race builds with the race detector, which needs a C compiler.
	Race bool
}

// BuildProgram builds a program and returns its path. It carries the version, commit and date of the checkout, as
// `make build` sets them.
func BuildProgram(ctx context.Context, b Build) (string, error) {
	out := b.Out
	if out == "" {
		out = filepath.Join(b.Root, "bin")
	}
	program := cmp.Or(b.Program, CoreController)
	source, err := sourceOf(program)
	if err != nil {
		return "", err
	}
	path := filepath.Join(out, program)
	args := []string{"build", "-trimpath", "-ldflags", ldflags(ctx, b.Root)}
	cgo := "0"
	if b.Race {
		path += "-race"
		args, cgo = append(args, "-race"), "1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, source)...)
	cmd.Dir = b.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", program, err, output)
	}
	return path, nil
}

// sourceOf returns the main package of a program, relative to the root of the repository.
func sourceOf(program string) (string, error) {
	switch program {
	case CoreController:
		return "./core/cmd/controller", nil
	case ExtensionsController:
		return "./extensions/cmd/controller", nil
	case Sandboxd:
		return "./core/cmd/sandboxd", nil
	}
	return "", fmt.Errorf("there is no program %q to build: choose %s, %s or %s", program, CoreController, ExtensionsController, Sandboxd)
}

// ldflags gives the binary its identity; without git it gets the one of a development build.
func ldflags(ctx context.Context, root string) string {
	const pkg = "sigs.k8s.io/agent-sandbox/shared/version"
	values := []string{
		"gitVersion=" + gitOr(ctx, root, "v0.0.0-dev", "describe", "--tags", "--always", "--dirty"),
		"gitCommit=" + gitOr(ctx, root, "unknown", "rev-parse", "HEAD"),
		"buildDate=" + gitOr(ctx, root, "unknown", "log", "-1", "--format=%cI"),
	}
	return "-s -w -X " + pkg + "." + strings.Join(values, " -X "+pkg+".")
}

func gitOr(ctx context.Context, root, otherwise string, args ...string) string {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	output, err := cmd.Output()
	if err != nil {
		return otherwise
	}
	return strings.TrimSpace(string(output))
}
