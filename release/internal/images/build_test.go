package images_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

const (
	repository = "testdata/repository"
	commit     = "0123456789abcdef0123456789abcdef01234567"
	// date of the commit, in a zone of its own.
	date = "2026-03-01T01:30:00+02:00"
)

var created = time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC)

// clock moves on by 1.5 s at every look.
func clock() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}
}

func newBuilder(t *testing.T, root string, progress io.Writer) *images.Builder {
	t.Helper()
	// The fixture is a module of its own.
	t.Setenv("GOWORK", "off")
	stamp, err := images.NewStamp("v1.2.3-4-gabcdef", commit, date)
	if err != nil {
		t.Fatal(err)
	}
	return images.NewBuilder(root, stamp, clock(), progress)
}

// made is an image that was written, and what was said meanwhile.
type made struct {
	row       images.Built
	directory string
	progress  string
}

// build makes the image of the smallest program for the given platforms.
func build(t *testing.T, root, platforms string) made {
	t.Helper()
	parsed, err := images.ParsePlatforms(platforms)
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	target := images.Target{Directory: filepath.Join(t.TempDir(), "images"), Prefix: "example.com/team", Tag: "v1.2.3"}
	hello := []images.Program{{Name: "hello", Package: "./cmd/hello"}}
	rows, err := newBuilder(t, root, &progress).Build(t.Context(), hello, parsed, target)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	if len(rows) != 1 {
		t.Fatalf("built %v, want one image", rows)
	}
	return made{row: rows[0], directory: target.Directory, progress: progress.String()}
}

type entry struct {
	header  tar.Header
	content []byte
}

func entries(t *testing.T, reader io.Reader) []entry {
	t.Helper()
	var read []entry
	for archive := tar.NewReader(reader); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return read
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, entry{header: *header, content: content})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAnotherDirectoryAndAnotherEnvironmentGiveTheSameBytes(t *testing.T) {
	first := build(t, repository, "linux/amd64,linux/arm64")
	elsewhere := filepath.Join(t.TempDir(), "a", "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(repository)); err != nil {
		t.Fatal(err)
	}
	for variable, value := range map[string]string{
		"GOFLAGS": "-buildvcs=true -tags=odd", "GOAMD64": "v3", "GOARM64": "v9.0", "GOOS": "plan9", "GOARCH": "386", "CGO_ENABLED": "1", "TZ": "Asia/Tokyo",
	} {
		t.Setenv(variable, value)
	}
	second := build(t, elsewhere, "linux/arm64,linux/amd64")
	if first.row.Digest != second.row.Digest {
		t.Errorf("the digests are %s and %s", first.row.Digest, second.row.Digest)
	}
	for _, file := range []string{"hello.tar", digests.FileName} {
		if !bytes.Equal(readFile(t, filepath.Join(first.directory, file)), readFile(t, filepath.Join(second.directory, file))) {
			t.Errorf("%s differs", file)
		}
	}
}

func TestBuild(t *testing.T) {
	hello := build(t, repository, "linux/amd64,linux/arm64")
	archive := filepath.Join(hello.directory, "hello.tar")
	t.Run("progress names program, platform and seconds", func(t *testing.T) {
		var want string
		for _, platform := range []string{"linux/amd64", "linux/arm64"} {
			want += "hello " + platform + ": compiling (minutes the first time, then seconds)\nhello " + platform + ": done in 1.5 s\n"
		}
		if difference := cmp.Diff(want, hello.progress); difference != "" {
			t.Errorf("progress (-want +got):\n%s", difference)
		}
	})
	t.Run("the row tells what was written", func(t *testing.T) {
		written, err := digests.Read(filepath.Join(hello.directory, digests.FileName))
		if err != nil {
			t.Fatal(err)
		}
		want := images.Built{
			Image: "example.com/team/hello:v1.2.3", Platforms: []string{"linux/amd64", "linux/arm64"}, Archive: archive,
			Size: int64(len(readFile(t, archive))), Digest: written["hello"],
		}
		if difference := cmp.Diff(want, hello.row); difference != "" {
			t.Errorf("row (-want +got):\n%s", difference)
		}
	})
	t.Run("the archive is a layout that names its image", func(t *testing.T) { checkLayout(t, archive, hello.row.Digest) })
	t.Run("the archive is also what Docker saves, of the first platform", func(t *testing.T) { checkDocker(t, archive, hello.row.Image) })
}

func checkLayout(t *testing.T, archive, digest string) {
	t.Helper()
	var names []string
	var top v1.IndexManifest
	for _, entry := range entries(t, bytes.NewReader(readFile(t, archive))) {
		names = append(names, entry.header.Name)
		if !entry.header.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s is dated %s", entry.header.Name, entry.header.ModTime)
		}
		if entry.header.Name == "index.json" {
			if err := json.Unmarshal(entry.content, &top); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The blobs are an index, and for each platform a manifest, a configuration and a layer.
	if len(names) != 7+3 || !slices.IsSorted(names) || !slices.Contains(names, "oci-layout") {
		t.Errorf("the archive holds %v", names)
	}
	if len(top.Manifests) != 1 {
		t.Fatalf("index.json holds %v, want one entry", top.Manifests)
	}
	if got := top.Manifests[0].Digest.String(); got != digest {
		t.Errorf("the entry has digest %s, want %s", got, digest)
	}
	want := map[string]string{"io.containerd.image.name": "example.com/team/hello:v1.2.3", "org.opencontainers.image.ref.name": "v1.2.3"}
	if difference := cmp.Diff(want, top.Manifests[0].Annotations); difference != "" {
		t.Errorf("annotations of the entry (-want +got):\n%s", difference)
	}
}

func checkDocker(t *testing.T, archive, reference string) {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "amd64" {
		t.Errorf("the image is for %s, want amd64", config.Architecture)
	}
}

func TestAProgramThatDoesNotCompileIsNamedAndLeavesNoDigests(t *testing.T) {
	var progress bytes.Buffer
	target := images.Target{Directory: t.TempDir(), Prefix: "example.com", Tag: "v1"}
	broken := []images.Program{{Name: "broken", Package: "./cmd/broken"}}
	_, err := newBuilder(t, repository, &progress).Build(t.Context(), broken, images.Platforms(), target)
	if err == nil || !strings.Contains(err.Error(), "compiling ./cmd/broken for linux/amd64") {
		t.Errorf("got %v, want an error that names the package", err)
	}
	if !strings.Contains(progress.String(), "undefined: undefined") {
		t.Errorf("progress does not hold what the compiler says:\n%s", progress.String())
	}
	if _, err := os.Stat(filepath.Join(target.Directory, digests.FileName)); err == nil {
		t.Error("digests were written")
	}
}
