//go:build e2e

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// The whole of it, longer and with more Sandboxes, is `make chaos`.
func TestSandboxesSurviveKills(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	stage := newStage(t, root)
	pauseController(t)
	for _, variant := range chaos.Variants() {
		t.Run(string(variant), func(t *testing.T) {
			survive(t, stage, chaos.Settings{
				Subject: chaos.Sandboxes, Variant: variant, Seed: 1, Names: 60, Duration: 25 * time.Second,
				LeastPause: time.Second, MostPause: 4 * time.Second, Progress: os.Stderr,
			})
		})
	}
}

// The whole of it, longer and with more claims, is `make chaos ARGS="--subject claims"`. On a cluster of these tests' own its
// kube-apiserver and etcd are killed, too.
func TestClaimsSurviveKills(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	stage := newStage(t, root)
	extensions, err := install.BuildProgram(t.Context(), install.Build{Root: root, Program: install.ExtensionsController, Race: raceDetector})
	if err != nil {
		t.Fatal(err)
	}
	stage.Binaries[install.ExtensionsController] = extensions
	pauseController(t)
	result := survive(t, stage, chaos.Settings{
		Subject: chaos.Claims, Variant: chaos.Elected, Seed: 1, Names: 150, Duration: time.Minute,
		LeastPause: time.Second, MostPause: 10 * time.Second, Progress: os.Stderr,
	})
	if own != nil && len(result.Outages) != 2 {
		t.Errorf("killed of the control plane: %v, want kube-apiserver and etcd", result.Outages)
	}
	if result.Claims.Warm == 0 || result.Claims.Cold == 0 || result.Claims.Made < 150 {
		t.Errorf("%+v: want 150 claims at least, some of them warm and some cold", *result.Claims)
	}
}

func newStage(t *testing.T, root string) chaos.Stage {
	t.Helper()
	stage := chaos.Stage{
		Config: config, Binaries: map[string]string{install.CoreController: controller.Binary}, Cluster: own,
		LogDir: filepath.Join(root, "bin", "e2e-chaos"),
	}
	if err := os.MkdirAll(stage.LogDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return stage
}

// survive plays, and fails for each violation.
func survive(t *testing.T, stage chaos.Stage, settings chaos.Settings) chaos.Result {
	t.Helper()
	result, err := chaos.Play(t.Context(), stage, settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := chaos.WriteTable(os.Stderr, []chaos.Result{result}); err != nil {
		t.Fatal(err)
	}
	for _, v := range result.Violations {
		t.Error(v)
	}
	if result.Kills < 3 {
		t.Errorf("%d kills, want more", result.Kills)
	}
	checkNoRaces(t, stage.LogDir, settings)
	return result
}

// checkNoRaces reads the logs of controllers that did not live to end with an error.
func checkNoRaces(t *testing.T, dir string, settings chaos.Settings) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, settings.Name()+"-*-controller-*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs of controllers: %v, %v", logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("DATA RACE")) {
			t.Errorf("the race detector found something, see %s", path)
		}
	}
}
