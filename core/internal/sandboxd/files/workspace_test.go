package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
)

const secret = "what lies outside"

// place is a workspace beside a directory that nothing may reach.
type place struct {
	*files.Workspace
	dir, outside string
}

// newPlace has in its workspace: dir/file, empty/, and links of every kind.
func newPlace(t testing.TB) place {
	t.Helper()
	above := t.TempDir()
	p := place{dir: filepath.Join(above, "workspace"), outside: filepath.Join(above, "outside")}
	for _, dir := range []string{filepath.Join(p.dir, "dir"), filepath.Join(p.dir, "empty"), filepath.Join(p.outside, "deep")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(p.dir, "dir", "file"), []byte("content"), 0o600))
	must(t, os.WriteFile(filepath.Join(p.outside, "secret"), []byte(secret), 0o600))
	for name, target := range map[string]string{
		"in":           "dir",
		"in-file":      "dir/file",
		"in-absolute":  filepath.Join(p.dir, "dir"),
		"in-by-detour": "empty/../dir",
		"out":          "../outside",
		"out-file":     "../outside/secret",
		"out-absolute": p.outside,
		"out-by-links": "in/up/../outside",
		"dir/up":       "..",
		"nowhere":      "gone",
		"loop":         "loop",
		"system":       "/etc",
	} {
		must(t, os.Symlink(target, filepath.Join(p.dir, name)))
	}
	workspace, err := files.Open(p.dir)
	must(t, err)
	t.Cleanup(func() { must(t, workspace.Close()) })
	p.Workspace = workspace
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// untouched fails where anything has changed outside.
func (p place) untouched(t testing.TB) {
	t.Helper()
	var found []string
	must(t, filepath.WalkDir(p.outside, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, strings.TrimPrefix(path, p.outside))
		return err
	}))
	if difference := cmp.Diff([]string{"", "/deep", "/secret"}, found); difference != "" {
		t.Errorf("outside (-want +got):\n%s", difference)
	}
	content, err := os.ReadFile(filepath.Join(p.outside, "secret"))
	if err != nil || string(content) != secret {
		t.Errorf("outside: %q, %v", content, err)
	}
}

func (p place) read(name string) (string, error) {
	file, err := p.Open(name)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(file)
	return string(content), errors.Join(err, file.Close())
}

func TestNamesAndLinksThatLeadOutside(t *testing.T) {
	for _, name := range []string{
		"..", "../outside/secret", "dir/../../outside/secret", "/../outside/secret", "out", "out/secret", "out/deep", "out-file", "out-absolute/secret",
		"out-by-links/secret", "dir/up/../../outside/secret", "system/hostname", "in/up/../outside/secret",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			_, err := p.read(name)
			forbidden(t, "read", err)
			_, err = p.Exists(name)
			forbidden(t, "looked for", err)
			_, err = p.Directory(name)
			forbidden(t, "taken for a directory", err)
			forbidden(t, "written", p.Write(name, files.DefaultMode, strings.NewReader("broken in")))
			p.untouched(t)
		})
	}
}

func forbidden(t *testing.T, what string, err error) {
	t.Helper()
	if fault.KindOf(err) != fault.Forbidden {
		t.Errorf("%s: got %v, want it forbidden", what, err)
	}
}

func TestALinkIsRemovedItself(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"out", "out-file", "system"} {
		must(t, p.Remove(name))
	}
	for _, name := range []string{"out-absolute", "out-by-links"} {
		must(t, p.RemoveAll(name))
	}
	for _, name := range []string{"out", "out-file", "system", "out-absolute", "out-by-links"} {
		if _, err := os.Lstat(filepath.Join(p.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	p.untouched(t)
}

func TestAWholeTreeIsRemovedAndNoLinkFollowed(t *testing.T) {
	p := newPlace(t)
	must(t, os.Symlink(p.outside, filepath.Join(p.dir, "dir", "trap")))
	must(t, p.RemoveAll("dir"))
	must(t, p.RemoveAll("/"))
	left, err := os.ReadDir(p.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	p.untouched(t)
}

func TestWhatIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		name string
		want fault.Kind
	}{
		"what is not there":                        {"gone", fault.NotFound},
		"what is not there, below what is no more": {"gone/deeper", fault.NotFound},
		"what is said to lie in a file":            {"dir/file/deeper", fault.NotFound},
		"a link that leads nowhere":                {"nowhere", fault.NotFound},
		"a link to itself":                         {"loop", fault.Invalid},
		"a zero byte":                              {"dir/\x00", fault.Invalid},
		"a name that is too long":                  {strings.Repeat("n", 300), fault.Invalid},
		"a pipe, which would hold its reader":      {"pipe", fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			must(t, syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600))
			if _, err := p.read(test.name); fault.KindOf(err) != test.want {
				t.Errorf("got %v, want one of kind %d", err, test.want)
			}
		})
	}
	for _, name := range []string{"dir/file", "/dir/file", "//dir//file", "./dir/../dir/file", "in/file", "in-file", "in-absolute/file", "in-by-detour/file", "in/up/dir/file", "gone/../dir/file"} {
		t.Run(name, func(t *testing.T) {
			if content, err := newPlace(t).read(name); content != "content" || err != nil {
				t.Errorf("got %q, %v", content, err)
			}
		})
	}
}

func TestWhatAListingTells(t *testing.T) {
	p := newPlace(t)
	directory, err := p.Open("")
	must(t, err)
	defer func() { must(t, directory.Close()) }()
	entries, err := directory.Entries()
	must(t, err)
	var names []string
	for e := range entries {
		kind := "file"
		if e.Directory {
			kind = "directory"
		}
		names = append(names, e.Name+" "+kind)
		if e.Name == "in-file" && (e.Size != int64(len("content")) || e.Mode != 0o600) {
			t.Errorf("of a link, what it leads to is told: %+v", e)
		}
	}
	want := []string{"dir directory", "empty directory", "in directory", "in-absolute directory", "in-by-detour directory", "in-file file", "nowhere file"}
	if difference := cmp.Diff(want, names); difference != "" {
		t.Errorf("entries (-want +got):\n%s", difference)
	}
}

func TestWhatIsWritten(t *testing.T) {
	for name, test := range map[string]struct{ name, at string }{
		"a new file":                          {"new", "new"},
		"a new file in new directories":       {"a/b/c", "a/b/c"},
		"one that is there":                   {"dir/file", "dir/file"},
		"one below a link":                    {"in/file", "dir/file"},
		"what a link leads to":                {"in-file", "dir/file"},
		"what a link is to lead to":           {"nowhere", "gone"},
		"what an absolute link leads to":      {"in-absolute/other", "dir/other"},
		"a name with a slash at its begin":    {"/new", "new"},
		"below a directory that is not there": {"gone/../new", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			must(t, p.Write(test.name, 0o640, strings.NewReader("fresh")))
			at := filepath.Join(p.dir, test.at)
			content, err := os.ReadFile(at)
			must(t, err)
			info, err := os.Lstat(at)
			must(t, err)
			if string(content) != "fresh" || info.Mode() != 0o640 {
				t.Errorf("%q, mode %s", content, info.Mode())
			}
			if link, err := os.Readlink(filepath.Join(p.dir, "in-file")); link != "dir/file" {
				t.Errorf("the link leads to %q, %v", link, err)
			}
			nothingTemporary(t, p.dir)
		})
	}
}

func nothingTemporary(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".part") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

func TestWhatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(p place) error
		want fault.Kind
	}{
		"a file in the place of a directory":       {func(p place) error { return p.Write("dir", files.DefaultMode, strings.NewReader("")) }, fault.Conflict},
		"a file in the place of the root":          {func(p place) error { return p.Write("", files.DefaultMode, strings.NewReader("")) }, fault.Conflict},
		"a file below a file":                      {func(p place) error { return p.Write("dir/file/x", files.DefaultMode, strings.NewReader("")) }, fault.Conflict},
		"a file with the name of a directory":      {func(p place) error { return p.Write("new/", files.DefaultMode, strings.NewReader("")) }, fault.Invalid},
		"to remove a directory that is not empty":  {func(p place) error { return p.Remove("dir") }, fault.Conflict},
		"to remove the root":                       {func(p place) error { return p.Remove("/") }, fault.Conflict},
		"to remove the root by another name":       {func(p place) error { return p.Remove("dir/..") }, fault.Conflict},
		"to remove what is not there":              {func(p place) error { return p.Remove("gone") }, fault.NotFound},
		"to remove all of what is not there":       {func(p place) error { return p.RemoveAll("gone") }, fault.NotFound},
		"to remove what is said to lie in a file":  {func(p place) error { return p.Remove("dir/file/x") }, fault.NotFound},
		"to remove all that is said to lie in one": {func(p place) error { return p.RemoveAll("dir/file/x") }, fault.NotFound},
		"to remove what lies outside":              {func(p place) error { return p.Remove("../outside/secret") }, fault.Forbidden},
		"to remove all of what lies outside":       {func(p place) error { return p.RemoveAll("out/deep") }, fault.Forbidden},
		"to remove what is above":                  {func(p place) error { return p.RemoveAll("..") }, fault.Forbidden},
		"to run in a file":                         {func(p place) error { _, err := p.Directory("dir/file"); return err }, fault.Premature},
		"to run in what is not there":              {func(p place) error { _, err := p.Directory("gone"); return err }, fault.NotFound},
		"to run elsewhere":                         {func(p place) error { _, err := p.Directory("/etc"); return err }, fault.Forbidden},
		"to run in a sibling of the same begin":    {func(p place) error { _, err := p.Directory(p.dir + "-too"); return err }, fault.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			if err := test.act(p); fault.KindOf(err) != test.want || err == nil {
				t.Errorf("got %v, want one of kind %d", err, test.want)
			}
			if content, err := p.read("dir/file"); content != "content" || err != nil {
				t.Errorf("the file there holds %q, %v", content, err)
			}
			nothingTemporary(t, p.dir)
			p.untouched(t)
		})
	}
}

func TestDirectoriesToRunIn(t *testing.T) {
	p := newPlace(t)
	for name, want := range map[string]string{"": "", ".": "", "dir": "/dir", "in": "/dir", p.dir: "", p.dir + "/empty": "/empty"} {
		if got, err := p.Directory(name); got != p.dir+want || err != nil {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
}

func TestWhetherThereIsSomething(t *testing.T) {
	p := newPlace(t)
	for name, want := range map[string]bool{"": true, "dir": true, "dir/file": true, "in-file": true, "gone": false, "nowhere": false, "dir/file/x": false} {
		if got, err := p.Exists(name); got != want || err != nil {
			t.Errorf("%q: got %t, %v", name, got, err)
		}
	}
}

func TestAWriteThatFailsLeavesTheFileAsItWas(t *testing.T) {
	p := newPlace(t)
	broken := io.MultiReader(strings.NewReader("half of"), iotest.ErrReader(errors.New("the client is gone")))
	err := p.Write("dir/file", files.DefaultMode, broken)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "the client is gone") {
		t.Errorf("got %v", err)
	}
	if content, err := p.read("dir/file"); content != "content" || err != nil {
		t.Errorf("the file holds %q, %v", content, err)
	}
	nothingTemporary(t, p.dir)
}

// A name never leads to a part of what is written: it is looked at in the midst of a write, too, which is where a crash would leave it.
func TestAFileChangesAtOnce(t *testing.T) {
	p := newPlace(t)
	looks := 0
	body := io.MultiReader(strings.NewReader("fresh "), look{func() {
		looks++
		if content, err := p.read("dir/file"); content != "content" || err != nil {
			t.Errorf("amid a write the file holds %q, %v", content, err)
		}
	}}, strings.NewReader("content"))
	must(t, p.Write("dir/file", files.DefaultMode, body))
	if content, err := p.read("dir/file"); content != "fresh content" || err != nil || looks == 0 {
		t.Errorf("after %d looks the file holds %q, %v", looks, content, err)
	}
}

// look is read for what it does.
type look struct{ do func() }

func (l look) Read([]byte) (int, error) {
	l.do()
	return 0, io.EOF
}

// A hard link to a foreign file takes the rights on that file to make, and os.Root cannot tell it from any other: what it leads to is replaced,
// and never written into.
func TestAHardLinkIsNotWrittenThrough(t *testing.T) {
	p := newPlace(t)
	must(t, os.Link(filepath.Join(p.outside, "secret"), filepath.Join(p.dir, "hard")))
	must(t, p.Write("hard", files.DefaultMode, strings.NewReader("mine")))
	if content, err := p.read("hard"); content != "mine" || err != nil {
		t.Errorf("the workspace holds %q, %v", content, err)
	}
	must(t, p.Remove("hard"))
	p.untouched(t)
}

// Somebody turns a directory into a link to the outside and back, for as long as files are written, read and removed through it.
func TestNoRaceLeadsOutside(t *testing.T) {
	p := newPlace(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		swap(p, stop)
	}()
	var wrote int
	for range 300 {
		if p.Write("swap/secret", files.DefaultMode, strings.NewReader("broken in")) == nil {
			wrote++
		}
		if content, err := p.read("swap/secret"); content == secret {
			t.Errorf("read %q, %v", content, err)
		}
		_ = p.RemoveAll("swap/secret")
		_ = p.RemoveAll("swap/deep")
	}
	close(stop)
	<-stopped
	p.untouched(t)
	if wrote == 0 {
		t.Error("the directory was never there: nothing was raced")
	}
}

func swap(p place, stop <-chan struct{}) {
	at, honest, trap := filepath.Join(p.dir, "swap"), filepath.Join(p.dir, "honest"), filepath.Join(p.dir, "trap")
	for {
		select {
		case <-stop:
			return
		default:
		}
		// Whatever of it fails does so since a write has made the directory meanwhile.
		_ = os.MkdirAll(honest, 0o755)
		_ = os.Rename(honest, at)
		_ = os.RemoveAll(at)
		_ = os.Symlink(p.outside, trap)
		_ = os.Rename(trap, at)
		_ = os.Remove(at)
	}
}

func TestADirectoryThatCannotBeOpened(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "gone"), os.Args[0]} {
		if workspace, err := files.Open(name); err == nil {
			t.Errorf("%s is opened: %v", name, workspace.Close())
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"dir/file", "../outside/secret", "out/secret", "in/up/../outside/secret", "dir/../../outside/deep", "/etc/passwd", "system/passwd", "nowhere/x", "loop/..", "\x00", "a//./../b", "out-by-links/deep/"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		// The begin of a path that exists gets a random name nowhere else.
		for _, prefix := range []string{"", "in/up/", "out/", "dir/", "out-by-links/"} {
			p := newPlace(t)
			if content, err := p.read(prefix + name); err == nil && !slices.Contains([]string{"content", ""}, content) {
				t.Errorf("read %q", content)
			}
			_, _ = p.Exists(prefix + name)
			if dir, err := p.Directory(prefix + name); err == nil && dir != p.dir && !strings.HasPrefix(dir, p.dir+"/") {
				t.Errorf("would run in %q", dir)
			}
			_ = p.Write(prefix+name, files.DefaultMode, strings.NewReader("broken in"))
			_ = p.Remove(prefix + name)
			_ = p.RemoveAll(prefix + name)
			p.untouched(t)
		}
	})
}
