package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/archive"
)

// stream is a tar stream of entries.
func stream(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, header := range entries {
		content := ""
		if header.Typeflag == tar.TypeReg {
			content = "content of " + header.Name
			header.Size = int64(len(content))
		}
		if header.Mode == 0 {
			header.Mode = 0o644
		}
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }

func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

// tree are the files below a directory, with what they hold; directories end with a slash, links say where they lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		below, _ := filepath.Rel(dir, name)
		switch {
		case entry.IsDir():
			found[below+"/"] = ""
		case entry.Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			found[below] = "-> " + to
			return err
		default:
			content, err := os.ReadFile(name)
			found[below] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestUnpackStaysInItsPlace(t *testing.T) {
	cases := map[string]struct {
		entries []tar.Header
		want    map[string]string
		skipped []string
		unsafe  bool
	}{
		"a file gets its new name": {
			entries: []tar.Header{file("./src")}, want: map[string]string{"to": "content of ./src"},
		},
		"a directory gets its new name": {
			entries: []tar.Header{{Typeflag: tar.TypeDir, Name: "src/", Mode: 0o755}, file("src/a"), file("src/b/c")},
			want:    map[string]string{"to/": "", "to/a": "content of src/a", "to/b/": "", "to/b/c": "content of src/b/c"},
		},
		"a directory that nobody may enter is entered to write below": {
			entries: []tar.Header{{Typeflag: tar.TypeDir, Name: "src/", Mode: 0o400}, file("src/a")},
			want:    map[string]string{"to/": "", "to/a": "content of src/a"},
		},
		"a name that leads upwards ends it":       {entries: []tar.Header{file("src/../../evil")}, unsafe: true},
		"a name that leads upwards and back, too": {entries: []tar.Header{file("src/../src/a")}, unsafe: true},
		"a name that begins upwards ends it":      {entries: []tar.Header{file("../evil")}, unsafe: true},
		"an absolute name ends it":                {entries: []tar.Header{file("/etc/passwd")}, unsafe: true},
		"a name that was not asked for ends it":   {entries: []tar.Header{file("other")}, unsafe: true},
		"a name that only begins alike ends it":   {entries: []tar.Header{file("src-evil")}, unsafe: true},
		"links are left out":                      {entries: []tar.Header{file("src/a"), link("src/l", "/etc")}, want: map[string]string{"to/": "", "to/a": "content of src/a"}, skipped: []string{"to/l"}},
		"hard links are left out":                 {entries: []tar.Header{{Typeflag: tar.TypeLink, Name: "src/l", Linkname: "src/../../x"}}, want: map[string]string{}, skipped: []string{"to/l"}},
		"devices are left out":                    {entries: []tar.Header{{Typeflag: tar.TypeChar, Name: "src/d"}, {Typeflag: tar.TypeFifo, Name: "src/f"}}, want: map[string]string{}, skipped: []string{"to/d", "to/f"}},
		"nothing is written through a link of its own": {
			entries: []tar.Header{link("src/l", "../.."), file("src/l/evil")},
			want:    map[string]string{"to/": "", "to/l/": "", "to/l/evil": "content of src/l/evil"}, skipped: []string{"to/l"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			root := openRoot(t, dir)
			var skipped []string
			err := archive.Unpack(stream(t, c.entries...), root, "src", "to", func(name, _ string) { skipped = append(skipped, name) })
			if c.unsafe {
				if !errors.Is(err, archive.ErrUnsafe) {
					t.Errorf("got %v, want %v", err, archive.ErrUnsafe)
				}
				c.want = map[string]string{}
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, tree(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, skipped); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			if got := slices.Collect(maps.Keys(tree(t, outer))); !slices.ContainsFunc(got, func(name string) bool { return name == "in/" }) ||
				slices.ContainsFunc(got, func(name string) bool { return !strings.HasPrefix(name, "in/") }) {
				t.Errorf("something got outside: %q", got)
			}
		})
	}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// A link that is there already leads nobody out, whoever made it.
func TestUnpackDoesNotFollowLinksOutOfItsPlace(t *testing.T) {
	outer, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outer, filepath.Join(dir, "to")); err != nil {
		t.Fatal(err)
	}
	err := archive.Unpack(stream(t, file("src/evil")), openRoot(t, dir), "src", "to", func(string, string) {})
	if err == nil {
		t.Error("it was written through the link")
	}
	if got := tree(t, outer); len(got) > 0 {
		t.Errorf("something got outside: %v", got)
	}
}

func TestUnpackTellsOfABrokenStream(t *testing.T) {
	whole := stream(t, file("src/a"), file("src/b")).Bytes()
	for name, content := range map[string][]byte{
		"nothing": nil, "cut in a file": whole[:520], "no tar": bytes.Repeat([]byte("x"), 1024),
	} {
		t.Run(name, func(t *testing.T) {
			if err := archive.Unpack(bytes.NewReader(content), openRoot(t, t.TempDir()), "src", "to", func(string, string) {}); err == nil {
				t.Error("it was taken for whole")
			}
		})
	}
}

func TestUnpackTakesModesButNoPrivileges(t *testing.T) {
	dir := t.TempDir()
	entry := file("src")
	entry.Mode = 0o4755
	if err := archive.Unpack(stream(t, entry), openRoot(t, dir), "src", "to", func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&fs.ModeSetuid != 0 || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

func TestPackedIsUnpackedAgain(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "1", "sub/b": "2"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	around := filepath.Join(t.TempDir(), "around")
	if err := os.Symlink(dir, around); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := archive.Pack(&packed, around, "src", func(name, why string) { t.Errorf("%s is left out: %s", name, why) }); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	var skipped []string
	if err := archive.Unpack(&packed, openRoot(t, to), "src", "to", func(name, _ string) { skipped = append(skipped, name) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"to/": "", "to/a": "1", "to/sub/": "", "to/sub/b": "2"}, tree(t, to)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"to/link"}, skipped); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if err := archive.Pack(io.Discard, filepath.Join(dir, "nothing"), "src", func(string, string) {}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing, got %v", err)
	}
}
