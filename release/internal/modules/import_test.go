package modules

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// released is a version that this repository never has.
const released = "v0.99.0-test.1"

// importer is a program of somebody else.
const importer = `package main

import (
	"fmt"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

func main() {
	fmt.Println(sandboxv1beta1.GroupVersion, extensionsv1beta1.GroupVersion)
	fmt.Printf("%T\n", sandbox.NewClient)
}
`

// TestOthersImportTheClients releases the working tree as it is, serves it as a module proxy does, and builds somebody else's program
// with it, in which no replace directive of ours holds.
func TestOthersImportTheClients(t *testing.T) {
	repository := copyOfTheTree(t)
	var told bytes.Buffer
	if err := Open(repository, &told).Release(t.Context(), released); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tagged clients/go/" + released, "git push --atomic origin HEAD " + released} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &told)
		}
	}
	if err := Open(repository, &told).Release(t.Context(), released); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("the same version again: %v", err)
	}
	if err := os.WriteFile(filepath.Join(repository, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open(repository, &told).Release(t.Context(), "v0.99.0"); err == nil || !strings.Contains(err.Error(), "?? new") {
		t.Errorf("a version of what is not committed: %v", err)
	}

	stranger := newStranger(t, serve(t, repository))
	stranger.run(t, "go", "mod", "init", "example.com/stranger")
	stranger.run(t, "go", "get", Path("clients/go")+"/sandbox@"+released)
	stranger.run(t, "go", "mod", "tidy")
	printed := stranger.run(t, "go", "run", ".")
	if want := "agents.x-k8s.io/v1beta1 extensions.agents.x-k8s.io/v1beta1"; !strings.Contains(printed, want) {
		t.Errorf("the program prints %q, want %q", printed, want)
	}
	listed := stranger.run(t, "go", "list", "-m", "all")
	for _, directory := range []string{"clients/go", "core", "extensions"} {
		if want := Path(directory) + " " + released + "\n"; !strings.Contains(listed, want) {
			t.Errorf("the program is not built with %s:\n%s", want, listed)
		}
	}
}

// copyOfTheTree commits what Git knows of this tree, or would add, to a repository of its own.
func copyOfTheTree(t *testing.T) string {
	t.Helper()
	const root = "../../.."
	listed, err := command(t, root, "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	for name := range strings.Lines(string(listed)) {
		name = strings.TrimSuffix(name, "\n")
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // Deleted, and not committed as that.
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(target, filepath.Dir(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "test"}, {"config", "user.email", "test@example.com"},
		{"add", "--all"}, {"commit", "--quiet", "--message=all"},
	} {
		if output, err := command(t, target, "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, output)
		}
	}
	return target
}

func command(t *testing.T, directory, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Dir = directory
	// A hook that runs this test has these for its own repository.
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	return cmd
}

// serve writes what a proxy would serve of the tags, and returns its directory.
func serve(t *testing.T, repository string) string {
	t.Helper()
	proxy := t.TempDir()
	for _, directory := range published() {
		path := filepath.Join(proxy, filepath.FromSlash(Path(directory)), "@v")
		if err := os.MkdirAll(path, 0o750); err != nil {
			t.Fatal(err)
		}
		gomod, err := command(t, repository, "git", "show", Tag(directory, released)+":"+directory+"/go.mod").Output()
		if err != nil {
			t.Fatal(err)
		}
		info, err := json.Marshal(struct {
			Version string
			Time    time.Time
		}{released, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		var archive bytes.Buffer
		version := module.Version{Path: Path(directory), Version: released}
		if err := zip.CreateFromVCS(&archive, version, repository, Tag(directory, released), directory); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{
			"list": []byte(released + "\n"), released + ".info": info, released + ".mod": gomod, released + ".zip": archive.Bytes(),
		} {
			if err := os.WriteFile(filepath.Join(path, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return proxy
}

// stranger is somebody with a module of their own, who has nothing of this repository but what the proxy serves.
type stranger struct {
	directory string
	env       []string
}

func newStranger(t *testing.T, proxy string) stranger {
	t.Helper()
	s := stranger{directory: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.directory, "main.go"), []byte(importer), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := command(t, ".", "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, others, _ := strings.Cut(strings.TrimSpace(string(known)), "\n")
	s.env = []string{
		// What has been downloaded for this repository need not be again; what is unpacked of ours goes with the test.
		fmt.Sprintf("GOPROXY=file://%s,file://%s,%s", proxy, filepath.Join(cache, "cache", "download"), others),
		"GOMODCACHE=" + t.TempDir(), "GONOSUMDB=" + prefix + "*", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off",
	}
	return s
}

func (s stranger) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := command(t, s.directory, name, args...)
	cmd.Env = append(cmd.Env, s.env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, output)
	}
	return string(output)
}
