package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilexec "k8s.io/client-go/util/exec"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/archive"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/podexec"
)

// machine runs commands as a container does: in a directory of its own, with the tar of the machine that tests.
type machine struct{ dir string }

// Run implements runner.
func (m machine) Run(ctx context.Context, command []string, s podexec.Streams) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.dir, s.In, s.Out, s.ErrOut
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return utilexec.CodeExitError{Err: err, Code: ended.ExitCode()}
	}
	return err
}

// liar sends another stream than was asked for.
type liar struct{ stream []byte }

// Run implements runner.
func (l liar) Run(_ context.Context, _ []string, s podexec.Streams) error {
	_, err := s.Out.Write(l.stream)
	return err
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reads(t *testing.T, file, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestCopyGoesWhereItSays(t *testing.T) {
	cases := map[string]struct{ to, lands string }{
		"a new name is the name":           {"new", "new"},
		"a directory gets it inside":       {"there", "there/src"},
		"a slash at the end likewise":      {"there/", "there/src"},
		"nothing is the working directory": {"", "src"},
		"a name below a directory":         {"there/new", "there/new"},
		"a name that looks like an option": {"-new", "-new"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			here, there, back := t.TempDir(), t.TempDir(), t.TempDir()
			write(t, filepath.Join(here, "src", "sub", "file"), "content")
			write(t, filepath.Join(there, "there", "other"), "")
			copies := transfer{in: machine{there}, skipped: func(name, why string) { t.Errorf("%s is left out: %s", name, why) }}
			if err := copies.upload(t.Context(), filepath.Join(here, "src"), c.to); err != nil {
				t.Fatal(err)
			}
			reads(t, filepath.Join(there, c.lands, "sub", "file"), "content")
			if err := copies.download(t.Context(), c.lands, back); err != nil {
				t.Fatal(err)
			}
			reads(t, filepath.Join(back, filepath.Base(c.lands), "sub", "file"), "content")
			if err := copies.download(t.Context(), c.lands+"/sub/file", filepath.Join(back, "renamed")); err != nil {
				t.Fatal(err)
			}
			reads(t, filepath.Join(back, "renamed"), "content")
		})
	}
}

func TestCopySaysWhatFailed(t *testing.T) {
	here := t.TempDir()
	write(t, filepath.Join(here, "src"), "content")
	copies := transfer{in: machine{t.TempDir()}, skipped: func(string, string) {}}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"nothing to send":            {copies.upload(t.Context(), filepath.Join(here, "nothing"), "a"), "nothing"},
		"no directory to send it to": {copies.upload(t.Context(), filepath.Join(here, "src"), "no/such/place"), "no/such"},
		"nothing to fetch":           {copies.download(t.Context(), "nothing", here), "nothing"},
		"no directory to put it in":  {copies.download(t.Context(), "a", filepath.Join(here, "no", "such")), "no such file"},
		"the root of everything":     {copies.download(t.Context(), "/", here), "name the file or directory itself"},
		"the directory above":        {copies.download(t.Context(), "a/../..", here), "name the file or directory itself"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", name, c.err, c.says)
		}
		if errors.As(c.err, &utilexec.CodeExitError{}) {
			t.Errorf("%s: the exit code of tar would be the plugin's", name)
		}
	}
}

func TestCopyDoesNotTrustTheContainer(t *testing.T) {
	here := t.TempDir()
	write(t, filepath.Join(here, "evil"), "content")
	var stream bytes.Buffer
	if err := archive.Pack(&stream, filepath.Join(here, "evil"), "../evil", func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(here, "to")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	err := transfer{in: liar{stream.Bytes()}, skipped: func(string, string) {}}.download(t.Context(), "/workspace", to)
	if !errors.Is(err, archive.ErrUnsafe) {
		t.Errorf("got %v, want %v", err, archive.ErrUnsafe)
	}
}

func TestReadPlace(t *testing.T) {
	for text, want := range map[string]place{
		"file":          {"", "file"},
		"box:/a":        {"box", "/a"},
		"claim/box:a:b": {"claim/box", "a:b"},
		"box:":          {"box", ""},
		"./a:b":         {"", "./a:b"},
		"/a:b":          {"", "/a:b"},
		"../a":          {"", "../a"},
	} {
		if got := readPlace(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
