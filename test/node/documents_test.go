//go:build node

package node_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/test/internal/documents"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// shell runs commands as an administrator does in the root of the repository, with Helm.
type shell struct {
	t   *testing.T
	env []string
}

// newShell builds Helm from the version that the chart is made for.
func newShell(t *testing.T) shell {
	t.Helper()
	programs := filepath.Join(root, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "helm"), "helm.sh/helm/v4/cmd/helm")
	build.Dir = filepath.Join(root, "release", "helm")
	build.Env = append(build.Environ(), "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building Helm: %v\n%s", err, output)
	}
	path := strings.Join([]string{programs, filepath.Join(programs, "k8s"), os.Getenv("PATH")}, string(os.PathListSeparator))
	home := t.TempDir()
	return shell{t, []string{
		"PATH=" + path, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home,
		// A make that runs these tests has those that they run say more than a reader sees.
		"MAKEFLAGS=", "MAKELEVEL=",
	}}
}

func (s shell) must(commands string) string {
	s.t.Helper()
	cmd := cluster.Command(context.WithoutCancel(s.t.Context()), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = root, append(cmd.Env, s.env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", commands, err, output)
	}
	return string(output)
}

// commandsOf returns the blocks of a document that name the test, which are so many.
func commandsOf(t *testing.T, count int, path ...string) documents.Document {
	t.Helper()
	document, err := documents.Read(filepath.Join(append([]string{root}, path...)...), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	if len(document.Commands) != count {
		t.Fatalf("%s has %d blocks of commands that name this test, want %d", filepath.Join(path...), len(document.Commands), count)
	}
	return document
}

// TestTheDocumentsOnARealNode types what documents say as it stands, where that needs containers or Helm.
func TestTheDocumentsOnARealNode(t *testing.T) {
	namespace := newNamespace(t)
	troubleshooting := commandsOf(t, 1, "docs", "troubleshooting.md")
	readme := commandsOf(t, 1, "release", "chart", "README.md")
	chart := commandsOf(t, 3, "docs", "helm.md")
	walk := commandsOf(t, 1, "docs", "devcluster.md")
	pack, template, upgrade := chart.Commands[0], chart.Commands[1], chart.Commands[2]
	shell := newShell(t)
	const values, box = "values.yaml", "box.yaml"
	packed := filepath.Join(root, "dist", "agent-sandbox-0.1.0.tgz")
	for _, made := range []string{packed, filepath.Join(root, values), filepath.Join(root, box)} {
		t.Cleanup(func() {
			if err := os.Remove(made); err != nil {
				t.Error(err)
			}
		})
	}
	for name, content := range map[string]string{values: chart.Files[values], box: walk.Files[box]} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if logs := shell.must(troubleshooting.Commands[0]); !strings.Contains(logs, `"msg"`) {
		t.Errorf("logs of the controller:\n%s", logs)
	}
	reinstalled(t)
	if told := shell.must(walk.Commands[0]); !strings.Contains(told, "\nkept\n") {
		t.Errorf("the walk on a real node says:\n%s", told)
	}
	remove(t, extensionsAsset)
	remove(t, coreAsset)
	shell.must(readme.Commands[0])
	rolledOut(t)
	shell.must(upgrade)
	rolledOut(t)
	if args := mustKubectl(t, "-n", install.Namespace, "get", "deployment", install.ExtensionsController,
		"-o", "jsonpath={.spec.template.spec.containers[0].args}"); !strings.Contains(args, "--api-connections=4") {
		t.Errorf("the values of the document are not those of the controller: %s", args)
	}
	served(t, namespace, "of-the-chart")

	shell.must(pack)
	if told := shell.must("helm show chart " + packed); !strings.Contains(told, "appVersion: v0.1.0\n") {
		t.Errorf("the packed chart:\n%s", told)
	}
	removeAll(t, shell)
	shell.must(template)
	rolledOut(t)
	served(t, namespace, "of-the-template")
	remove(t, extensionsAsset)
	remove(t, coreAsset)
}
