// Package versions decides whether the builds of this repository share what they have in common: a dependency at two
// versions, and all that imports it, is compiled twice.
package versions

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"sigs.k8s.io/agent-sandbox/release/internal/finding"
)

// Build is one set of packages that is compiled with versions of its own.
type Build struct {
	// Name is its directory below the root of the repository; "go.work" is the workspace.
	Name string
	// Packages are the patterns that it compiles, tests included.
	Packages []string
}

// Builds are those of the repository: each module alone, all of them as a workspace, the one that renders the chart, and Kubernetes itself.
func Builds(modules []string) []Build {
	workspace := Build{Name: "go.work"}
	var builds []Build
	for _, module := range modules {
		builds = append(builds, Build{Name: module, Packages: []string{"./..."}})
		workspace.Packages = append(workspace.Packages, "./"+module+"/...")
	}
	chart := Build{Name: "release/helm", Packages: []string{"./..."}}
	kubernetes := Build{Name: "test/controlplane/kube"}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"} {
		kubernetes.Packages = append(kubernetes.Packages, "k8s.io/kubernetes/cmd/"+program)
	}
	return append(builds, workspace, chart, kubernetes)
}

// leaves are modules that Kubernetes pins lower than we need them and that next to nothing imports: compiled twice, they
// cost seconds.
func leaves() []string {
	return []string{
		"github.com/container-storage-interface/spec", "github.com/go-errors/errors", "go.uber.org/zap",
		"sigs.k8s.io/kustomize/api", "sigs.k8s.io/kustomize/kyaml",
	}
}

// Check asks the go command below root for the versions that every build uses, and reports the modules that two builds
// use at different versions.
func Check(ctx context.Context, root string, builds []Build) ([]finding.Finding, error) {
	used := make([]map[string]string, len(builds))
	group, ctx := errgroup.WithContext(ctx)
	for i, build := range builds {
		group.Go(func() (err error) {
			used[i], err = modulesOf(ctx, root, build)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return compare(builds, used), nil
}

// moduleFormat prints the module of a package with the version that is compiled.
const moduleFormat = "{{with .Module}}{{if not .Main}}{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}{{end}}"

// modulesOf returns the version of every module that a build compiles packages of, by its path.
func modulesOf(ctx context.Context, root string, build Build) (map[string]string, error) {
	args := append([]string{"list", "-deps", "-test", "-f", moduleFormat}, build.Packages...)
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	if build.Name != "go.work" {
		command.Dir = filepath.Join(root, build.Name)
		command.Env = append(os.Environ(), "GOWORK=off")
	}
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("listing the modules of %s: %w", build.Name, err)
	}
	versions := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		// Modules of this repository have no version.
		if path, version, found := strings.Cut(lines.Text(), " "); found && version != "" {
			versions[path] = version
		}
	}
	return versions, nil
}

// compare returns a finding for each module that a build uses at another version than an earlier build.
func compare(builds []Build, used []map[string]string) []finding.Finding {
	type choice struct{ build, version string }
	first := map[string]choice{}
	var findings []finding.Finding
	for i, build := range builds {
		for _, path := range slices.Sorted(maps.Keys(used[i])) {
			version := used[i][path]
			before := cmp.Or(first[path], choice{build.Name, version})
			first[path] = before
			if before.version != version && !slices.Contains(leaves(), path) {
				findings = append(findings, finding.Finding{
					File: build.Name, Rule: "one-version", Object: path, Field: "version", Value: version,
					Fix: fmt.Sprintf("%s has %s: require the same in both, so that it is compiled once", before.build, before.version),
				})
			}
		}
	}
	return findings
}
