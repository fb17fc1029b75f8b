package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// log is a writer that goroutines share.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

const helloSource = `package main

import "fmt"

func main() { fmt.Println("hello") }
`

// repository makes one with a module of its own that has no dependencies.
func repository(t *testing.T) (root string, target Target) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, "hello", "go.mod"), "module example.org/hello\n\ngo 1.26.0\n")
	write(t, filepath.Join(root, "hello", "go.sum"), "")
	write(t, filepath.Join(root, "hello", "main.go"), helloSource)
	return root, Target{Name: "hello", Module: "hello", Package: ".", Inputs: []string{"hello"}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func visible(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestEnsureBuildsOnlyWhatIsMissing(t *testing.T) {
	root, target := repository(t)
	binary := filepath.Join(root, "bin", "k8s", "hello")
	steps := []struct {
		name   string
		before func()
		builds int
	}{
		{"nothing is built yet", func() {}, 1},
		{"all is built", func() {}, 0},
		{"a source changes", func() { write(t, filepath.Join(root, "hello", "main.go"), helloSource+"// new\n") }, 1},
		{"a test changes", func() { write(t, filepath.Join(root, "hello", "main_test.go"), "package main\n") }, 0},
		{"go.sum changes", func() { write(t, filepath.Join(root, "hello", "go.sum"), "\n") }, 1},
		{"the binary is gone", func() { _ = os.Remove(binary) }, 1},
		{"the binary is cut off", func() { _ = os.Truncate(binary, 10) }, 1},
		{"the flags change", func() { target.Variables = []string{"main.version=1"} }, 1},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.before()
			progress := &log{}
			if err := New(root, progress).Ensure(t.Context(), []Target{target}); err != nil {
				t.Fatal(err)
			}
			if got := progress.count("done in"); got != step.builds {
				t.Errorf("builds = %d, want %d; progress:\n%s", got, step.builds, progress.text.String())
			}
			out, err := exec.Command(binary).Output()
			if err != nil || string(out) != "hello\n" {
				t.Errorf("the program prints %q, %v", out, err)
			}
		})
	}
	if diff := cmp.Diff([]string{".hello.stamp", ".lock", "hello"}, visible(t, filepath.Dir(binary))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestConcurrentCallsBuildOnce(t *testing.T) {
	root, target := repository(t)
	progress := &log{}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := New(root, progress).Ensure(t.Context(), []Target{target}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := progress.count("done in"); got != 1 {
		t.Errorf("builds = %d, want 1", got)
	}
}

func TestAFailedBuildShowsItsLastLines(t *testing.T) {
	root, target := repository(t)
	write(t, filepath.Join(root, "hello", "main.go"), "package main\n\nfunc main() { undefinedName() }\n")
	err := New(root, &log{}).Ensure(t.Context(), []Target{target})
	if err == nil || !strings.Contains(err.Error(), "building hello") || !strings.Contains(err.Error(), "undefinedName") {
		t.Errorf("Ensure = %v, want the target and the compiler's words", err)
	}
	if diff := cmp.Diff([]string{".lock"}, visible(t, filepath.Join(root, "bin", "k8s"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// cancelOn ends a context when a text is written to it.
type cancelOn struct {
	text   string
	cancel context.CancelFunc
}

func (w cancelOn) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.cancel()
	}
	return len(p), nil
}

func TestAnInterruptedBuildLeavesNothing(t *testing.T) {
	root, target := repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := New(root, cancelOn{"building", cancel}).Ensure(ctx, []Target{target})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Ensure = %v, want the context's error", err)
	}
	if diff := cmp.Diff([]string{".lock"}, visible(t, filepath.Join(root, "bin", "k8s"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWithOutputNamesAFullDisk(t *testing.T) {
	cases := []struct{ name, output, want string }{
		{"no output", "", "exit status 1"},
		{"a compiler's words", "a.go:1: wrong\n", "exit status 1; last lines of its output:\na.go:1: wrong"},
		{
			"a full disk", "write: no space left on device\n",
			"disk full (a first build needs about 8 GB for the Go caches and bin/): exit status 1; " +
				"last lines of its output:\nwrite: no space left on device",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := withOutput(errors.New("exit status 1"), c.output).Error()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinkFlagsTellTheVersion(t *testing.T) {
	source := module{Version: "v1.37.2", Time: time.Date(2026, 10, 27, 12, 1, 4, 0, time.UTC)}
	got := linkFlags([]string{"p.v=$version", "p.major=$major", "p.minor=$minor", "p.date=$date", "p.commit="}, source)
	want := "-s -w -X p.v=v1.37.2 -X p.major=1 -X p.minor=37 -X p.date=2026-10-27T12:01:04Z -X p.commit="
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTargetsLieInTheRepository(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, target := range Cluster() {
		t.Run(target.Name, func(t *testing.T) {
			if _, err := inputsOf(root, target, goFlags(), "go"); err != nil {
				t.Error(err)
			}
			if (target.Package == "") == (len(target.Files) == 0) {
				t.Error("want either a package or files")
			}
		})
	}
}

// The stamp of devcluster would miss what it uses beside its inputs.
func TestDevclusterUsesNothingBesideItsInputs(t *testing.T) {
	const modules = "sigs.k8s.io/agent-sandbox/"
	root := filepath.Join("..", "..", "..", "..")
	target := devclusterTarget()
	out, err := goOutput(t.Context(), filepath.Join(root, target.Module), "list", "-deps", target.Package)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(out) {
		own, isOwn := strings.CutPrefix(pkg, modules)
		if isOwn && !strings.HasPrefix(own, target.Inputs[0]) && !strings.HasPrefix(own, target.Inputs[1]) {
			t.Errorf("package %s is not among the inputs %v", pkg, target.Inputs)
		}
	}
}

func TestAPatchedBuildChangesACopy(t *testing.T) {
	root, target := repository(t)
	library := filepath.Join(root, "library")
	write(t, filepath.Join(library, "go.mod"), "module example.org/library\n\ngo 1.26.0\n")
	write(t, filepath.Join(library, "text", "text.go"), "package text\n\nconst Text = \"before\"\n")
	main := filepath.Join(root, "hello", "main.go")
	write(t, main, "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/library/text\"\n)\n\nfunc main() { fmt.Println(text.Text) }\n")
	definition := "module example.org/hello\n\ngo 1.26.0\n\nrequire example.org/library v0.0.0\n"
	write(t, filepath.Join(root, "hello", "go.mod"), definition)
	modFile, cleanUp, err := patched(filepath.Join(root, "hello"), filepath.Join(root, "bin", "patched"), Target{
		Name: "hello", Source: "example.org/library", Patch: &Patch{File: "text/text.go", Old: "before", New: "after"},
	}, module{Dir: library})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-modfile", modFile, ".")
	cmd.Dir, cmd.Env = filepath.Join(root, "hello"), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	output, err := cmd.CombinedOutput()
	if err != nil || string(output) != "after\n" {
		t.Errorf("the program says %q: %v", output, err)
	}
	if source, err := os.ReadFile(filepath.Join(library, "text", "text.go")); err != nil || !strings.Contains(string(source), "before") {
		t.Errorf("the module itself is now %q, %v", source, err)
	}
	cleanUp()
	if left := visible(t, filepath.Join(root, "bin")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	target.Source, target.Patch = "example.org/library", &Patch{File: "text/text.go", Old: "nowhere", New: "after"}
	if _, _, err := patched(filepath.Join(root, "hello"), filepath.Join(root, "bin", "patched"), target, module{Dir: library}); err == nil ||
		!strings.Contains(err.Error(), "0 times") {
		t.Errorf("a patch that fits nothing = %v", err)
	}
	if left := visible(t, filepath.Join(root, "bin")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
