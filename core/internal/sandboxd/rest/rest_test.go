package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/rest"
)

// api serves a directory that lies beside one with a secret.
type api struct {
	url, dir string
	client   *http.Client
	// seconds is what the clock has gone on.
	seconds *atomic.Int64
}

func newAPI(t testing.TB) api {
	t.Helper()
	above := t.TempDir()
	a := api{dir: filepath.Join(above, "workspace"), seconds: &atomic.Int64{}}
	must(t, os.MkdirAll(filepath.Join(a.dir, "dir"), 0o755))
	must(t, os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(a.dir, "dir", "file"), []byte("0123456789"), 0o640))
	must(t, os.Symlink("../secret", filepath.Join(a.dir, "out")))
	changed := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(a.dir, "dir", "file"), changed, changed))
	workspace, err := files.Open(a.dir)
	must(t, err)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server := httptest.NewServer(rest.NewHandler(rest.Settings{
		Workspace: workspace, Metadata: map[string]string{"SANDBOX_NAME": "mine"}, Log: logr.Discard(),
		Now: func() time.Time { return began.Add(time.Duration(a.seconds.Load()) * time.Second) },
	}))
	t.Cleanup(func() {
		server.Close()
		must(t, workspace.Close())
	})
	a.url, a.client = server.URL, server.Client()
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request with the path as it stands, and headers as name, value, name, value.
func (a api) send(t testing.TB, method, path string, body io.Reader, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.url, body)
	must(t, err)
	request.URL.Opaque = strings.TrimPrefix(a.url, "http:") + path
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := a.client.Do(request)
	must(t, err)
	content, err := io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	return reply{response.StatusCode, response.Header, string(content)}
}

func TestFilesAreReadAndWritten(t *testing.T) {
	a := newAPI(t)
	if got := a.send(t, http.MethodPut, "/v1/files/new/deep/a%20b?mode=0600", strings.NewReader("\x00bytes\xff")); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("PUT: %+v", got)
	}
	got := a.send(t, http.MethodGet, "/v1/files/new/deep/a%20b", nil)
	if got.status != http.StatusOK || got.body != "\x00bytes\xff" || got.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("GET: %+v", got)
	}
	if got := a.send(t, http.MethodHead, "/v1/files/new/deep/a%20b", nil); got.status != http.StatusOK || got.header.Get("Content-Length") != "7" || got.body != "" {
		t.Errorf("HEAD: %+v", got)
	}
	info, err := os.Stat(filepath.Join(a.dir, "new", "deep", "a b"))
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %s", info.Mode())
	}
	if got := a.send(t, http.MethodDelete, "/v1/files/new/deep/a%20b", nil); got.status != http.StatusNoContent {
		t.Errorf("DELETE: %+v", got)
	}
	if got := a.send(t, http.MethodGet, "/v1/files/new/deep/a%20b", nil); got.status != http.StatusNotFound {
		t.Errorf("GET after DELETE: %+v", got)
	}
}

func TestAFileInAForm(t *testing.T) {
	a := newAPI(t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(t, form.WriteField("comment", "passed over"))
	part, err := form.CreateFormFile("file", "the name in the form does not count")
	must(t, err)
	_, err = part.Write([]byte("from a form"))
	must(t, errors.Join(err, form.Close()))
	if got := a.send(t, http.MethodPut, "/v1/files/form", &body, "Content-Type", form.FormDataContentType()); got.status != http.StatusNoContent {
		t.Errorf("PUT: %+v", got)
	}
	if got := a.send(t, http.MethodGet, "/v1/files/form", nil); got.body != "from a form" {
		t.Errorf("GET: %+v", got)
	}
}

func TestPartsOfAFile(t *testing.T) {
	a := newAPI(t)
	for of, want := range map[string]reply{
		"bytes=2-4":  {status: http.StatusPartialContent, body: "234"},
		"bytes=7-":   {status: http.StatusPartialContent, body: "789"},
		"bytes=-2":   {status: http.StatusPartialContent, body: "89"},
		"bytes=100-": {status: http.StatusRequestedRangeNotSatisfiable, body: `{"code":"INVALID_ARGUMENT","message":"invalid range: failed to overlap"}` + "\n"},
		"bytes=5-2":  {status: http.StatusRequestedRangeNotSatisfiable, body: `{"code":"INVALID_ARGUMENT","message":"invalid range"}` + "\n"},
	} {
		got := a.send(t, http.MethodGet, "/v1/files/dir/file", nil, "Range", of)
		if got.status != want.status || got.body != want.body {
			t.Errorf("%s: %+v", of, got)
		}
	}
}

func TestListings(t *testing.T) {
	a := newAPI(t)
	for path, want := range map[string]string{
		"/v1/files/dir":         `{"path":"/dir","entries":[{"name":"file","size":10,"type":"file","modified_at":"2026-05-04T03:02:01Z","mode":"0640"}]}`,
		"/v1/files/dir/":        `{"path":"/dir","entries":[{"name":"file","size":10,"type":"file","modified_at":"2026-05-04T03:02:01Z","mode":"0640"}]}`,
		"/v1/files//dir/../dir": `{"path":"/dir","entries":[{"name":"file","size":10,"type":"file","modified_at":"2026-05-04T03:02:01Z","mode":"0640"}]}`,
	} {
		if got := a.send(t, http.MethodGet, path, nil); got.status != http.StatusOK || strings.TrimSpace(got.body) != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, path := range []string{"/v1/files", "/v1/files/", "/v1/files//"} {
		var listing struct {
			Path    string
			Entries []struct{ Name, Type string }
		}
		got := a.send(t, http.MethodGet, path, nil)
		must(t, json.Unmarshal([]byte(got.body), &listing))
		if listing.Path != "/" || len(listing.Entries) != 1 || listing.Entries[0].Name != "dir" || listing.Entries[0].Type != "directory" {
			t.Errorf("%s: %s, which should hold dir, and no link that leads out", path, got.body)
		}
	}
	must(t, os.Mkdir(filepath.Join(a.dir, "empty"), 0o755))
	if got := a.send(t, http.MethodGet, "/v1/files/empty", nil); strings.TrimSpace(got.body) != `{"path":"/empty","entries":[]}` {
		t.Errorf("empty: %+v", got)
	}
}

func TestTheRootIsEmptiedOnRequestAlone(t *testing.T) {
	a := newAPI(t)
	if got := a.send(t, http.MethodDelete, "/v1/files/", nil); got.status != http.StatusConflict {
		t.Errorf("without recursive: %+v", got)
	}
	if got := a.send(t, http.MethodDelete, "/v1/files/?recursive=true", nil); got.status != http.StatusNoContent {
		t.Errorf("with recursive: %+v", got)
	}
	if left, err := os.ReadDir(a.dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(a.dir), "secret")); err != nil {
		t.Error(err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		method, path string
		headers      []string
		status       int
		code, in     string
	}{
		"a file that is not there":           {http.MethodGet, "/v1/files/gone", nil, 404, "NOT_FOUND", `path \"gone\"`},
		"a path out of the root":             {http.MethodGet, "/v1/files/../secret", nil, 403, "PERMISSION_DENIED", "leads out of the root"},
		"an encoded path out of the root":    {http.MethodGet, "/v1/files/%2e%2e%2fsecret", nil, 403, "PERMISSION_DENIED", "leads out of the root"},
		"a path that begins at the root":     {http.MethodGet, "/v1/files//etc/passwd", nil, 404, "NOT_FOUND", "/etc/passwd"},
		"a link out of the root":             {http.MethodGet, "/v1/files/out", nil, 403, "PERMISSION_DENIED", "leads out of the root"},
		"a write through such a link":        {http.MethodPut, "/v1/files/out", nil, 403, "PERMISSION_DENIED", "leads out of the root"},
		"a zero byte":                        {http.MethodGet, "/v1/files/a%00b", nil, 400, "INVALID_ARGUMENT", "zero byte"},
		"a directory in the way":             {http.MethodPut, "/v1/files/dir", nil, 409, "CONFLICT", "is a directory"},
		"a file in the way":                  {http.MethodPut, "/v1/files/dir/file/x", nil, 409, "CONFLICT", "file exists"},
		"a directory that is not empty":      {http.MethodDelete, "/v1/files/dir", nil, 409, "CONFLICT", "not empty"},
		"a mode that is none":                {http.MethodPut, "/v1/files/x?mode=rw", nil, 400, "INVALID_ARGUMENT", `mode=\"rw\": must be`},
		"a mode with more than permissions":  {http.MethodPut, "/v1/files/x?mode=4755", nil, 400, "INVALID_ARGUMENT", "mode"},
		"a mode without its 0":               {http.MethodPut, "/v1/files/x?mode=644", nil, 400, "INVALID_ARGUMENT", "mode"},
		"recursive that is no word":          {http.MethodDelete, "/v1/files/dir?recursive=1", nil, 400, "INVALID_ARGUMENT", `recursive=\"1\"`},
		"a form without an end":              {http.MethodPut, "/v1/files/x", []string{"Content-Type", "multipart/form-data; boundary=b"}, 400, "INVALID_ARGUMENT", "form"},
		"a form without a boundary":          {http.MethodPut, "/v1/files/x", []string{"Content-Type", "multipart/form-data"}, 400, "INVALID_ARGUMENT", "form"},
		"a method of others":                 {http.MethodPost, "/v1/files/x", nil, 405, "INVALID_ARGUMENT", "POST"},
		"a write of what is told":            {http.MethodPut, "/v1/health", nil, 405, "INVALID_ARGUMENT", "PUT"},
		"a path of nothing":                  {http.MethodGet, "/v2/files/x", nil, 404, "NOT_FOUND", "/v1/files/{path}"},
		"a path that only begins as another": {http.MethodGet, "/v1/filesystem", nil, 404, "NOT_FOUND", "/v1/files/{path}"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			got := a.send(t, test.method, test.path, strings.NewReader(""), test.headers...)
			if got.status != test.status || !strings.HasPrefix(got.body, `{"code":"`+test.code+`","message":"`) || !strings.Contains(got.body, test.in) {
				t.Errorf("got %+v, want %s with %q", got, test.code, test.in)
			}
			if content, err := os.ReadFile(filepath.Join(filepath.Dir(a.dir), "secret")); string(content) != "secret" {
				t.Errorf("outside: %q, %v", content, err)
			}
		})
	}
}

func TestHealthAndMetadata(t *testing.T) {
	a := newAPI(t)
	a.seconds.Store(75)
	for path, want := range map[string]string{"/v1/health": `{"status":"ok","uptime_seconds":75}`, "/v1/metadata": `{"env":{"SANDBOX_NAME":"mine"}}`} {
		if got := a.send(t, http.MethodGet, path, nil); got.status != http.StatusOK || strings.TrimSpace(got.body) != want || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// An upload that breaks off leaves what was there, and nothing beside it.
func TestAnUploadThatBreaksOff(t *testing.T) {
	a := newAPI(t)
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write(make([]byte, 1<<20))
		_ = writer.CloseWithError(errors.New("gone"))
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.url+"/v1/files/dir/file", reader)
	must(t, err)
	if response, err := a.client.Do(request); err == nil {
		must(t, response.Body.Close())
		if response.StatusCode < 400 {
			t.Errorf("status %s", response.Status)
		}
	}
	if got := a.send(t, http.MethodGet, "/v1/files/dir/file", nil); got.body != "0123456789" {
		t.Errorf("the file holds %.20q", got.body)
	}
	// The request that answers now was served after the one that broke off had begun to be cleared up.
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		entries, err := os.ReadDir(filepath.Join(a.dir, "dir"))
		must(t, err)
		if len(entries) == 1 {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("left in the directory: %v", entries)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Files of any size take the same memory, both ways: a gigabyte passes while the heap stays below 32 MiB.
func TestAGigabyteInConstantMemory(t *testing.T) {
	const size, most = 1 << 30, 32 << 20
	a := newAPI(t)
	peak := watchHeap(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.url+"/v1/files/large", io.LimitReader(zeros{}, size))
	must(t, err)
	request.ContentLength = size
	response, err := a.client.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("PUT: %s", response.Status)
	}
	info, err := os.Stat(filepath.Join(a.dir, "large"))
	must(t, err)
	response, err = a.client.Get(a.url + "/v1/files/large")
	must(t, err)
	read, err := io.Copy(io.Discard, response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	if info.Size() != size || read != size {
		t.Errorf("%d bytes are written and %d read", info.Size(), read)
	}
	if got := peak(); got > most {
		t.Errorf("the heap took %d MiB", got>>20)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// watchHeap returns a function that ends the watch and returns the most bytes of live and dead objects that it saw.
func watchHeap(t *testing.T) func() uint64 {
	t.Helper()
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var most uint64
		for {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			most = max(most, memory.HeapAlloc)
			select {
			case <-stop:
				result <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-result
	}
}

func TestALargeDirectoryIsListed(t *testing.T) {
	a := newAPI(t)
	var want []string
	for n := range 1000 {
		name := fmt.Sprintf("%06d", n)
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(a.dir, "dir", name), nil, 0o600))
	}
	var listing struct{ Entries []struct{ Name string } }
	must(t, json.Unmarshal([]byte(a.send(t, http.MethodGet, "/v1/files/dir", nil).body), &listing))
	var got []string
	for _, e := range listing.Entries {
		got = append(got, e.Name)
	}
	if difference := cmp.Diff(append(want, "file"), got); difference != "" {
		t.Errorf("entries (-want +got):\n%s", difference)
	}
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []struct{ method, path, query, kind, body string }{
		{"GET", "/v1/files/dir/file", "", "", ""},
		{"PUT", "/v1/files/../secret", "mode=0777", "", "x"},
		{"PUT", "/v1/files/out", "mode=9", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n"},
		{"DELETE", "/v1/files/", "recursive=true", "", ""},
		{"HEAD", "/v1/health", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.kind, seed.body)
	}
	above := f.TempDir()
	dir := filepath.Join(above, "workspace")
	must(f, os.MkdirAll(dir, 0o755))
	must(f, os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	workspace, err := files.Open(dir)
	must(f, err)
	handler := rest.NewHandler(rest.Settings{Workspace: workspace, Now: time.Now, Log: logr.Discard()})
	f.Fuzz(func(t *testing.T, method, path, query, kind, body string) {
		if err := os.Symlink("../secret", filepath.Join(dir, "out")); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		request.Method, request.URL.Path, request.URL.RawQuery = method, path, query
		request.Header.Set("Content-Type", kind)
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, request)
		if recorded.Code == http.StatusInternalServerError {
			t.Errorf("%s %q: %s", method, path, recorded.Body)
		}
		entries, err := os.ReadDir(above)
		must(t, err)
		if content, err := os.ReadFile(filepath.Join(above, "secret")); string(content) != "secret" || len(entries) != 2 {
			t.Errorf("outside: %v, %q, %v", entries, content, err)
		}
	})
}
