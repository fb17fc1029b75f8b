package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build says how to build a controller.
type Build struct {
	// Root is the repository's.
	Root string
	// Out is the directory to build into; empty: bin/ below Root.
	Out string
	// Race builds with the race detector, which needs a C compiler.
	Race bool
}

// BuildController builds the core controller and returns its path. It carries the version, commit and date of the
// checkout, as `make build` sets them.
func BuildController(ctx context.Context, b Build) (string, error) {
	out := b.Out
	if out == "" {
		out = filepath.Join(b.Root, "bin")
	}
	path := filepath.Join(out, "agent-sandbox-controller")
	args := []string{"build", "-trimpath", "-ldflags", ldflags(ctx, b.Root)}
	cgo := "0"
	if b.Race {
		path += "-race"
		args, cgo = append(args, "-race"), "1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, "./core/cmd/controller")...)
	cmd.Dir = b.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the controller: %w\n%s", err, output)
	}
	return path, nil
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
