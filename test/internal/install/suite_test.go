package install_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

var (
	apiServer *testkit.APIServer
	binary    string
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	root, err := testkit.FindRoot()
	if err == nil {
		binary, err = install.BuildController(context.Background(), install.Build{Root: root})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return testkit.RunTests(m, func(started *testkit.APIServer) { apiServer = started })
}

// asset returns the rendered asset of the core.
func asset(t *testing.T) []byte {
	t.Helper()
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(root + "/release/testdata/sandbox.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}
