package images_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"sigs.k8s.io/agent-sandbox/release/internal/digests"
	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

// absent is an address that nothing listens at.
func absent(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it is only there to get a free port
	return listener.Addr().String()
}

// answering is the address of a registry that answers every request with status and a page of several lines.
func answering(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(status)
		io.WriteString(w, "<html>\n<body>\nno\n</body>\n</html>\n") //nolint:errcheck // the client may be gone
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// untrusted is the address of a registry with a certificate by an authority that nobody knows.
func untrusted(t *testing.T) string {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(quiet)))
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// plain is the address of a registry that speaks http, but is not the one loopback address that may.
func plain(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("there is no second loopback address: %v", err)
	}
	quiet := log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(quiet)))
	server.Config.ErrorLog = quiet
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().String()
}

func TestAPushThatFailsSaysInOneLineWhatToDo(t *testing.T) {
	hello := build(t, repository, "linux/amd64")
	for name, test := range map[string]struct {
		prefix string
		want   []string
	}{
		"nothing listens there":              {absent(t), []string{"no registry answers", "check the address", "connection refused"}},
		"the certificate is not trusted":     {untrusted(t), []string{"is not trusted", "SSL_CERT_FILE", "unknown authority"}},
		"the registry speaks plain http":     {plain(t), []string{"plain http", "give it a certificate"}},
		"nobody is logged in":                {answering(t, http.StatusUnauthorized), []string{"answers 401 Unauthorized", "docker login 127.0.0.1:"}},
		"others may push":                    {answering(t, http.StatusForbidden), []string{"answers 403 Forbidden", "as someone who may push"}},
		"the registry makes no repositories": {answering(t, http.StatusNotFound), []string{"answers 404 Not Found", "create the repository"}},
		"the registry asks for something new": {
			answering(t, http.StatusTeapot), []string{"answers 418", "the log of the registry"},
		},
		"a name without a host would be Docker Hub": {"team", []string{`"team" is no place for images`, "localhost:5000"}},
	} {
		t.Run(name, func(t *testing.T) {
			pushed, err := newPusher(io.Discard).Push(t.Context(), hello.directory, images.Destination{Prefix: test.prefix})
			if err == nil {
				t.Fatalf("pushed %v", pushed)
			}
			for _, want := range append(test.want, test.prefix) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	t.Run("an interruption is no fault of the registry", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := newPusher(io.Discard).Push(ctx, hello.directory, images.Destination{Prefix: newRegistry(t)})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("got %v, want an interruption", err)
		}
	})
	t.Run("progress says which image it was", func(t *testing.T) {
		address := absent(t)
		var progress bytes.Buffer
		_, err := newPusher(&progress).Push(t.Context(), hello.directory, images.Destination{Prefix: address})
		if want := address + "/hello:v1.2.3: pushing\n"; err == nil || progress.String() != want {
			t.Errorf("got %v and progress %q, want an error and %q", err, progress.String(), want)
		}
	})
}

func TestOnlyWhatWasBuiltIsPushed(t *testing.T) {
	hello := build(t, repository, "linux/amd64")
	archive, digestFile := "hello.tar", digests.FileName
	for name, test := range map[string]struct {
		change func(directory string) error
		want   string
	}{
		"nothing was built": {
			func(directory string) error { return os.Remove(filepath.Join(directory, digestFile)) }, "run make images first",
		},
		"an archive is missing": {
			func(directory string) error { return os.Remove(filepath.Join(directory, archive)) }, "run make images again",
		},
		"an archive was cut short": {
			func(directory string) error { return os.Truncate(filepath.Join(directory, archive), hello.row.Size/2) }, "run make images again",
		},
		"a bit of a blob was flipped": {
			func(directory string) error { return flip(filepath.Join(directory, archive), hello.row.Size/2) }, "is damaged",
		},
		"the digests are those of another build": {
			func(directory string) error {
				other := map[string]string{"hello": "sha256:" + strings.Repeat("0", 64)}
				return digests.Write(filepath.Join(directory, digestFile), other)
			}, "holds " + hello.row.Digest + ", but digests.json says sha256:000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "images")
			if err := os.CopyFS(directory, os.DirFS(hello.directory)); err != nil {
				t.Fatal(err)
			}
			if err := test.change(directory); err != nil {
				t.Fatal(err)
			}
			_, err := newPusher(io.Discard).Push(t.Context(), directory, images.Destination{Prefix: newRegistry(t)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}

func flip(path string, offset int64) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[offset] ^= 1
	return os.WriteFile(path, content, 0o600)
}
