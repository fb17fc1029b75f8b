package preflight_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

var (
	root   string
	binary string // of the command
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "preflight-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		root, err = testkit.FindRoot()
	}
	if err == nil {
		binary = filepath.Join(dir, "preflight")
		build := exec.Command("go", "build", "-o", binary, "./release/cmd/preflight")
		build.Dir = root
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var output []byte
		if output, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("building the command: %w\n%s", err, output)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
