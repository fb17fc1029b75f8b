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
)

// The whole of it, longer and with more Sandboxes, is `make chaos`.
func TestSandboxesSurviveKills(t *testing.T) {
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	stage := chaos.Stage{Config: config, Binary: controller.Binary, LogDir: filepath.Join(root, "bin", "e2e-chaos")}
	if err := os.MkdirAll(stage.LogDir, 0o700); err != nil {
		t.Fatal(err)
	}
	pauseController(t)
	for _, variant := range chaos.Variants() {
		t.Run(string(variant), func(t *testing.T) {
			result, err := chaos.Play(t.Context(), stage, chaos.Settings{
				Variant: variant, Seed: 1, Sandboxes: 60, Duration: 25 * time.Second,
				LeastPause: time.Second, MostPause: 4 * time.Second, Progress: os.Stderr,
			})
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
			checkNoRaces(t, stage.LogDir, variant)
		})
	}
}

// checkNoRaces reads the logs of controllers that did not live to end with an error.
func checkNoRaces(t *testing.T, dir string, variant chaos.Variant) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, string(variant)+"-controller-*.log"))
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
