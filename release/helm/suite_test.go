package helm_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// scratch holds the programs that tests have built.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "controllers-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(scratch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// built builds both controllers, once, with the workspace that the chart's own module is no part of.
var built = sync.OnceValue(func() error {
	top, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	for name, program := range map[string]string{core: "./core/cmd/controller", extensions: "./extensions/cmd/controller"} {
		command := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(scratch, name), program)
		command.Dir = top
		command.Env = append(os.Environ(), "GOWORK="+filepath.Join(top, "go.work"))
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w: %s", name, err, output)
		}
	}
	return nil
})

// call runs a controller, without a cluster, to its end.
func call(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(scratch, name), args...)
	command.Env = []string{"HOME=" + t.TempDir()}
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), complaints.String()
}
