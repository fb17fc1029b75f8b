package images_test

import (
	"bytes"
	"debug/elf"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

// newRegistry starts a registry in this process and returns its address.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func newPusher(progress io.Writer) *images.Pusher {
	return images.NewPusher(authn.NewMultiKeychain(), clock(), progress)
}

func annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "hello",
		"org.opencontainers.image.version":  "v1.2.3-4-gabcdef",
		"org.opencontainers.image.revision": commit,
		"org.opencontainers.image.created":  "2026-02-28T23:30:00Z",
		"org.opencontainers.image.source":   "https://sigs.k8s.io/agent-sandbox",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

func TestWhatIsBuiltComesOutOfARegistry(t *testing.T) {
	hello := build(t, repository, "linux/amd64,linux/arm64")
	prefix := newRegistry(t) + "/some/path"
	var progress bytes.Buffer
	pushed, err := newPusher(&progress).Push(t.Context(), hello.directory, images.Destination{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	reference := prefix + "/hello:v1.2.3"
	if difference := cmp.Diff([]images.Pushed{{Reference: reference, Digest: hello.row.Digest}}, pushed); difference != "" {
		t.Errorf("pushed (-want +got):\n%s", difference)
	}
	if want := reference + ": pushing\n" + reference + ": done in 1.5 s\n"; progress.String() != want {
		t.Errorf("progress is\n%s\nwant\n%s", progress.String(), want)
	}
	index := pull(t, reference)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(annotations(), manifest.Annotations); difference != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", difference)
	}
	var platforms []string
	for _, descriptor := range manifest.Manifests {
		platforms = append(platforms, descriptor.Platform.String())
		t.Run(descriptor.Platform.String(), func(t *testing.T) {
			image, err := index.Image(descriptor.Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, image, descriptor.Platform.Architecture)
			checkProgram(t, onlyFile(t, image), descriptor.Platform.Architecture)
		})
	}
	if difference := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); difference != "" {
		t.Errorf("platforms of the index (-want +got):\n%s", difference)
	}
}

func pull(t *testing.T, reference string) v1.ImageIndex {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	return index
}

func checkConfig(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := &v1.ConfigFile{
		OS: "linux", Architecture: architecture, Created: v1.Time{Time: created},
		History: []v1.History{{Created: v1.Time{Time: created}, CreatedBy: "release/cmd/images"}},
		Config:  v1.Config{User: "65532:65532", Entrypoint: []string{"/hello"}, WorkingDir: "/", Labels: annotations()},
	}
	if difference := cmp.Diff(want, config, cmpopts.IgnoreFields(v1.ConfigFile{}, "RootFS")); difference != "" {
		t.Errorf("configuration (-want +got):\n%s", difference)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON || manifest.Layers[0].MediaType != types.OCILayer {
		t.Errorf("media types are %s, %s and %s, want those of OCI", manifest.MediaType, manifest.Config.MediaType, manifest.Layers[0].MediaType)
	}
	if difference := cmp.Diff(annotations(), manifest.Annotations); difference != "" {
		t.Errorf("annotations of the image (-want +got):\n%s", difference)
	}
}

// onlyFile returns the content of the one file that the image's one layer holds.
func onlyFile(t *testing.T, image v1.Image) []byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("there are %d layers, want one", len(layers))
	}
	reader, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // all of it was read
	files := entries(t, reader)
	if len(files) != 1 {
		t.Fatalf("the layer holds %d files, want one", len(files))
	}
	got := files[0].header
	if got.Name != "hello" || !got.FileInfo().Mode().IsRegular() || got.Mode != 0o555 || got.Uid != 0 || got.Gid != 0 || !got.ModTime.Equal(created) {
		t.Errorf("the file is %+v", got)
	}
	return files[0].content
}

// checkProgram wants a static program for the architecture, which says what it was stamped with if it runs here.
func checkProgram(t *testing.T, program []byte, architecture string) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[architecture]; file.Machine != want {
		t.Errorf("the program is for %s, want %s", file.Machine, want)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %s, so it is not static", segment.Type)
		}
	}
	if architecture != runtime.GOARCH || runtime.GOOS != "linux" {
		return
	}
	path := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if want := "v1.2.3-4-gabcdef (commit " + commit + ", built " + date + ")\n"; string(output) != want {
		t.Errorf("--version prints %q, want %q", output, want)
	}
}

func TestATagOfThePushWins(t *testing.T) {
	hello := build(t, repository, "linux/amd64")
	address := newRegistry(t)
	for _, tag := range []string{"v1.2.3-rc.1", "v1.2.3-rc.2"} {
		pushed, err := newPusher(io.Discard).Push(t.Context(), hello.directory, images.Destination{Prefix: address, Tag: tag})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(pushed[0].Reference, "/hello:"+tag) || pushed[0].Digest != hello.row.Digest {
			t.Errorf("pushed %v, want tag %s and digest %s", pushed, tag, hello.row.Digest)
		}
		digest, err := pull(t, pushed[0].Reference).Digest()
		if err != nil {
			t.Fatal(err)
		}
		if digest.String() != hello.row.Digest {
			t.Errorf("the registry has %s, want %s", digest, hello.row.Digest)
		}
	}
}
