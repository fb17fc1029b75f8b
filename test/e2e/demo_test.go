//go:build e2e

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/demo"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// The first command of README.md, on the cluster of these tests instead of one of its own.
func TestTheDemoTellsItsStory(t *testing.T) {
	pauseController(t)
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binaries := t.TempDir()
	for _, name := range []string{install.CoreController, install.ExtensionsController, install.Sandboxd} {
		if _, err := install.BuildProgram(t.Context(), install.Build{Root: root, Program: name, Out: binaries}); err != nil {
			t.Fatal(err)
		}
	}
	var timeline, progress bytes.Buffer
	err = demo.Run(t.Context(), demo.Options{
		Root: root, Kubeconfig: kubeconfig, Manifest: filepath.Join(root, "release", "testdata", "sandbox-with-extensions.yaml"),
		Controller: demo.ControllerLocal, Binaries: binaries, Output: demo.OutputText, Timeout: time.Minute, Out: &timeline, Progress: &progress,
	})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, timeline.String(), progress.String())
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	// What README.md shows of it, but for times and names, which differ.
	for _, line := range []string{
		"my-sandbox: one Pod with a stable name", "my-workspace: with a DNS name and a disk that outlives its Pod",
		"DNS name my-workspace.agent-sandbox-demo.svc.cluster.local", "Pod is gone, PVC and Service are kept",
		"my-agents: a warm pool, a claim that it serves at once, and one that starts cold", "3 Sandboxes wait for claims",
		`sh -c 'echo "6 times 7 is $((6 * 7))"' in Sandbox my-agents-`, "prints: 6 times 7 is 42 (by sandboxd on this machine",
		"claim my-session-cold on a pool of 0 has Sandbox my-session-cold", "claim, pool and template; the Sandbox went with its claim",
	} {
		if !strings.Contains(timeline.String(), line) || !bytes.Contains(readme, []byte(line)) {
			t.Errorf("the demo or README.md does not tell %q:\n%s", line, timeline.String())
		}
	}
}
