package digests_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "below", digests.FileName)
	want := map[string]string{"router": "sha256:" + strings.Repeat("b1", 32), "controller": "sha256:" + strings.Repeat("a0", 32)}
	if err := digests.Write(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := digests.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("digests (-want +got):\n%s", difference)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := "{\n  \"controller\": \"" + want["controller"] + "\",\n  \"router\": \"" + want["router"] + "\"\n}\n"
	if difference := cmp.Diff(text, string(content)); difference != "" {
		t.Errorf("the file (-want +got):\n%s", difference)
	}
}

func TestFilesThatPinNothingAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"no image":                      {"{}", "holds no image"},
		"text that is no JSON":          {"a: b", "reading digests from"},
		"a tag in place of a digest":    {`{"a": "v1"}`, `"v1" is no digest of image a`},
		"a digest that was cut short":   {`{"a": "sha256:abc"}`, `"sha256:abc" is no digest of image a`},
		"a digest by another algorithm": {`{"a": "sha512:` + strings.Repeat("0", 64) + `"}`, "is no digest of image a"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), digests.FileName)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := digests.Read(path); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestAFileThatIsMissingIsToldApart(t *testing.T) {
	if _, err := digests.Read(filepath.Join(t.TempDir(), digests.FileName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}
