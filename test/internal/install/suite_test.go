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
	apiServer        *testkit.APIServer
	binary           string // of the core's controller
	extensionsBinary string
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return testkit.RunTests(m, func(started *testkit.APIServer) { apiServer = started })
}

func build() error {
	root, err := testkit.FindRoot()
	if err != nil {
		return err
	}
	if binary, err = install.BuildProgram(context.Background(), install.Build{Root: root}); err != nil {
		return err
	}
	extensionsBinary, err = install.BuildProgram(context.Background(), install.Build{Root: root, Program: install.ExtensionsController})
	return err
}

// asset returns a rendered asset.
func asset(t *testing.T, name string) []byte {
	t.Helper()
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(root + "/release/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}
