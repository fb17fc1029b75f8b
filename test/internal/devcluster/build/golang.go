package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/process"
)

const (
	// reportEvery is the time between two lines of progress of one build.
	reportEvery = 10 * time.Second
	// stopGrace is how long a build may take to clean up when it is stopped.
	stopGrace = 5 * time.Second
	// tailLines is how much of a failed build's output goes into the error.
	tailLines = 15
)

// goFlags are the flags of every build.
func goFlags() []string {
	return []string{"-mod=readonly", "-trimpath", "-buildvcs=false"}
}

// goCommand prepares a run of the go command that the caller's workspace and
// flags do not influence.
func goCommand(ctx context.Context, dir string, args []string, cgo bool) *exec.Cmd {
	enabled := "CGO_ENABLED=0"
	if cgo {
		enabled = "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOWORK=off", "GOFLAGS=", enabled, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// The compilers it starts share its group, so that all can be stopped.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// runGo runs a go command to its end and calls report now and then meanwhile.
func runGo(ctx context.Context, dir string, args []string, cgo bool, report func(elapsed time.Duration)) error {
	var output bytes.Buffer
	cmd := goCommand(ctx, dir, args, cgo)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return explain(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	started := time.Now()
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			report(time.Since(started))
		case err := <-ended:
			if ctx.Err() != nil {
				// What did not heed the interrupt; usually nothing is left.
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				return context.Cause(ctx)
			}
			return withOutput(err, output.String())
		}
	}
}

// goOutput runs a go command and returns what it prints, trimmed.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := goCommand(ctx, dir, args, false)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), withOutput(explain(err), stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func explain(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("a Go toolchain is needed on PATH: %w", err)
	}
	return err
}

// withOutput adds the last lines of the output to an error, and a word on a
// full disk, which is easily lost among them.
func withOutput(err error, output string) error {
	if err == nil {
		return nil
	}
	if strings.Contains(output, syscall.ENOSPC.Error()) {
		err = fmt.Errorf("disk full (a first build needs about 8 GB for the Go caches and bin/): %w", err)
	}
	if output == "" {
		return err
	}
	return fmt.Errorf("%w; last lines of its output:\n%s", err, process.LastLines(output, tailLines))
}

// module is what "go list -m -json" tells about the source of a target.
type module struct {
	Version string
	Time    time.Time
	Dir     string
}

func readSource(ctx context.Context, dir, path string) (module, error) {
	if path == "" {
		return module{}, nil
	}
	// Unlike "go list -m" this puts the module into the cache if it is missing.
	if err := runGo(ctx, dir, []string{"mod", "download", path}, false, func(time.Duration) {}); err != nil {
		return module{}, fmt.Errorf("downloading module %s: %w", path, err)
	}
	text, err := goOutput(ctx, dir, "list", "-mod=readonly", "-m", "-json", path)
	if err != nil {
		return module{}, err
	}
	var m module
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return module{}, fmt.Errorf("reading what is known about module %s: %w", path, err)
	}
	return m, nil
}

// linkFlags strips the program and sets its variables.
func linkFlags(variables []string, source module) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(source.Version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	values := map[string]string{
		"version": source.Version,
		"major":   major,
		"minor":   minor,
		"date":    source.Time.UTC().Format(time.RFC3339),
	}
	flags := "-s -w"
	for _, v := range variables {
		flags += " -X " + os.Expand(v, func(key string) string { return values[key] })
	}
	return flags
}
