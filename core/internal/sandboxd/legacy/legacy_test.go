package legacy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/legacy"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

type api struct{ url, dir string }

func newAPI(t testing.TB, changes ...func(*legacy.Settings)) api {
	t.Helper()
	above := t.TempDir()
	a := api{dir: filepath.Join(above, "app")}
	must(t, os.MkdirAll(filepath.Join(a.dir, "dir"), 0o755))
	must(t, os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(a.dir, "dir", "file"), []byte("content"), 0o600))
	must(t, os.Symlink("../secret", filepath.Join(a.dir, "out")))
	changed := time.Unix(1700000000, 500000000)
	must(t, os.Chtimes(filepath.Join(a.dir, "dir", "file"), changed, changed))
	workspace, err := files.Open(a.dir)
	must(t, err)
	settings := legacy.Settings{
		Workspace: workspace, Limit: time.Minute, Output: 1 << 20, Log: logr.Discard(),
		Programs: process.NewManager(process.Settings{
			Environment: process.ParseEnvironment(os.Environ()), Most: 4, Chunk: 4096, Family: process.NewFamily(), Now: time.Now, Log: logr.Discard(),
		}),
	}
	for _, change := range changes {
		change(&settings)
	}
	server := httptest.NewServer(legacy.NewHandler(settings))
	a.url = server.URL
	t.Cleanup(func() {
		server.Close()
		settings.Programs.Wait()
		must(t, workspace.Close())
	})
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (a api) send(t testing.TB, method, path, kind string, body io.Reader) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.url, body)
	must(t, err)
	request.URL.Opaque = strings.TrimPrefix(a.url, "http:") + path
	request.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	content, err := io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, string(content)
}

type result struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode *int   `json:"exit_code"`
}

func (a api) execute(t testing.TB, command string) result {
	t.Helper()
	body, err := json.Marshal(map[string]string{"command": command})
	must(t, err)
	return a.post(t, string(body))
}

func (a api) post(t testing.TB, body string) result {
	t.Helper()
	status, answer := a.send(t, http.MethodPost, "/execute", "application/json", strings.NewReader(body))
	var got result
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || got.ExitCode == nil {
		t.Fatalf("status %d, %q, %v", status, answer, err)
	}
	return got
}

func TestCommandsAreSplitAndRunWithoutAShell(t *testing.T) {
	a := newAPI(t)
	for command, want := range map[string]string{
		`printf %s. one  two`:          "one.two.",
		`printf '%s.' 'one two' "3 4"`: "one two.3 4.",
		`printf %s. a\ b "c\"d" e'f'`:  `a b.c"d.ef.`,
		`printf %s. $HOME * ; | # x`:   "$HOME.*.;.|.#.x.",
		`printf %s. ""`:                ".",
		`sh -c 'echo "$0 $1"' a "b c"`: "a b c\n",
		`pwd`:                          a.dir + "\n",
	} {
		if got := a.execute(t, command); got.Stdout != want || *got.ExitCode != 0 || got.Stderr != "" {
			t.Errorf("%s: %q, %q, code %d", command, got.Stdout, got.Stderr, *got.ExitCode)
		}
	}
	if got := a.execute(t, "sh -c 'echo out; echo err >&2; exit 3'"); got.Stdout != "out\n" || got.Stderr != "err\n" || *got.ExitCode != 3 {
		t.Errorf("%+v", got)
	}
	if got := a.execute(t, `printf '\377'`); got.Stdout != "\ufffd" || *got.ExitCode != 0 {
		t.Errorf("what is no text: %q", got.Stdout)
	}
}

func TestEveryFailureIsToldInTheSameForm(t *testing.T) {
	a := newAPI(t, func(s *legacy.Settings) { s.Limit = 200 * time.Millisecond })
	for name, test := range map[string]struct{ body, want string }{
		"a program that is not there": {`{"command":"no-such-program"}`, "not found"},
		"a program that may not run":  {`{"command":"dir/file"}`, "permission denied"},
		"a quote that does not end":   {`{"command":"echo 'x"}`, "splitting the command"},
		"nothing":                     {`{"command":"  "}`, "must name a program"},
		"no command":                  {`{}`, "must name a program"},
		"another type":                {`{"command":["ls"]}`, "the body must be"},
		"what is no JSON":             {`command=ls`, "the body must be"},
		"an empty body":               {``, "the body must be"},
		"one that runs too long":      {`{"command":"sleep 1000"}`, "it ran longer than 200ms"},
		"more than can be run":        {`{"command":"` + strings.Repeat("x", 9<<20) + `"}`, "the body must be"},
	} {
		t.Run(name, func(t *testing.T) {
			got := a.post(t, test.body)
			if *got.ExitCode != 1 || got.Stdout != "" || !strings.HasPrefix(got.Stderr, "Failed to execute command: ") || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("code %d, %q, %q", *got.ExitCode, got.Stdout, got.Stderr)
			}
		})
	}
}

func TestOutputIsCapped(t *testing.T) {
	a := newAPI(t, func(s *legacy.Settings) { s.Output = 10 })
	got := a.execute(t, "head -c 1000000 /dev/zero")
	if len(got.Stdout) != 10 || *got.ExitCode != 0 || !strings.Contains(got.Stderr, "the last 999990 bytes of stdout are missing") {
		t.Errorf("%+v", got)
	}
}

// A11.12: a program that takes its time holds nobody up, has a limit, and takes its children with it, those that hold its output as well.
func TestHealthAnswersWhileAProgramRuns(t *testing.T) {
	a := newAPI(t, func(s *legacy.Settings) { s.Limit = 2 * time.Second })
	done := make(chan result, 1)
	go func() {
		done <- a.execute(t, "sh -c 'sleep 1000 & echo $! > child; wait'")
	}()
	child := filepath.Join(a.dir, "child")
	eventually(t, "the program runs", func() bool {
		content, _ := os.ReadFile(child)
		return bytes.HasSuffix(content, []byte("\n"))
	})
	// The fastest counts: the machine may be busy with something else, but a daemon that waits for the program answers none in time.
	fastest := time.Hour
	for range 20 {
		began := time.Now()
		status, body := a.send(t, http.MethodGet, "/", "", nil)
		if fastest = min(fastest, time.Since(began)); status != http.StatusOK || strings.TrimSpace(body) != `{"status":"ok"}` {
			t.Errorf("status %d, %q", status, body)
		}
	}
	if fastest > 200*time.Millisecond {
		t.Errorf("the fastest answer took %s", fastest)
	}
	got := <-done
	if *got.ExitCode != 1 || !strings.Contains(got.Stderr, "it ran longer than 2s") {
		t.Errorf("%+v", got)
	}
	content, err := os.ReadFile(child)
	must(t, err)
	eventually(t, "its child is gone", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(content)), "stat"))
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
	})
}

// A11.12: a client that does not wait leaves nothing running.
func TestAClientThatGoesTakesItsProgramWithIt(t *testing.T) {
	var programs *process.Manager
	a := newAPI(t, func(s *legacy.Settings) { programs = s.Programs })
	client := &http.Client{Timeout: 300 * time.Millisecond}
	response, err := client.Post(a.url+"/execute", "application/json", strings.NewReader(`{"command":"sh -c \"trap '' TERM; sleep 1000\""}`))
	if err == nil {
		t.Errorf("status %s, %v", response.Status, response.Body.Close())
	}
	// What this asks of the program, it ignores. It ends all the same, or the test runs out of time.
	programs.Stop()
	programs.Wait()
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !check() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (a api) uploaded(t *testing.T, filename string) int {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(t, form.WriteField("other", "passed over"))
	part, err := form.CreateFormFile("file", filename)
	must(t, err)
	_, err = part.Write([]byte("uploaded"))
	must(t, errors.Join(err, form.Close()))
	status, _ := a.send(t, http.MethodPost, "/upload", form.FormDataContentType(), &body)
	return status
}

func TestFiles(t *testing.T) {
	a := newAPI(t)
	for name, want := range map[string]int{"new": 200, "a/b/c": 200, "dir/file": 200, "../secret": 403, "out": 403, "dir": 404, "": 404} {
		if got := a.uploaded(t, name); got != want {
			t.Errorf("upload of %q: status %d, want %d", name, got, want)
		}
	}
	for _, kind := range []string{"application/json", "multipart/form-data; boundary=b"} {
		if status, body := a.send(t, http.MethodPost, "/upload", kind, strings.NewReader("{}")); status != 404 || !strings.HasPrefix(body, `{"message":"`) {
			t.Errorf("upload of %s: status %d, %s", kind, status, body)
		}
	}
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/download/a/b/c":           {200, "uploaded"},
		"/download//a/b/c":          {200, "uploaded"},
		"/download/dir/file":        {200, "uploaded"},
		"/download/gone":            {404, `{"message":"path \"gone\": no such file or directory"}`},
		"/download/dir":             {404, `{"message":"path \"dir\" is a directory: /list/ tells what is in it"}`},
		"/download/../secret":       {403, `{"message":"path \"../secret\" leads out of the root: choose one below it"}`},
		"/download/%2e%2e%2fsecret": {403, `{"message":"path \"../secret\" leads out of the root: choose one below it"}`},
		"/download/out":             {403, `{"message":"path \"out\" leads out of the root: choose one below it"}`},
		"/list/gone":                {404, `{"message":"path \"gone\": no such file or directory"}`},
		"/list/a":                   {200, `[{"name":"b","size":-1,"type":"directory","mod_time":0}]`},
		"/list/new":                 {404, `{"message":"path \"new\" is no directory: /download/ tells what is in it"}`},
		"/exists/dir/file":          {200, `{"path":"dir/file","exists":true}`},
		"/exists/gone":              {200, `{"path":"gone","exists":false}`},
		"/exists/../secret":         {403, `{"message":"path \"../secret\" leads out of the root: choose one below it"}`},
		"/nothing":                  {404, ""},
		"/execute":                  {405, `{"message":"method GET is not POST"}`},
	} {
		status, body := a.send(t, http.MethodGet, path, "", nil)
		if body = strings.TrimSpace(body); status != want.status || want.body != "" && !strings.HasPrefix(path, "/list/a") && body != want.body {
			t.Errorf("%s: status %d, %s", path, status, body)
		}
	}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(a.dir), "secret"))
	if string(content) != "secret" {
		t.Errorf("outside: %q, %v", content, err)
	}
}

func TestListings(t *testing.T) {
	a := newAPI(t)
	status, body := a.send(t, http.MethodGet, "/list/dir", "", nil)
	want := `[{"name":"file","size":7,"type":"file","mod_time":1700000000.5}]`
	if difference := cmp.Diff(want, strings.TrimSpace(body)); difference != "" || status != 200 {
		t.Errorf("status %d (-want +got):\n%s", status, difference)
	}
	for _, path := range []string{"/list", "/list/", "/list//"} {
		var entries []struct{ Name, Type string }
		_, body := a.send(t, http.MethodGet, path, "", nil)
		must(t, json.Unmarshal([]byte(body), &entries))
		if len(entries) != 1 || entries[0].Name != "dir" || entries[0].Type != "directory" {
			t.Errorf("%s: %s", path, body)
		}
	}
	must(t, os.Mkdir(filepath.Join(a.dir, "empty"), 0o755))
	if _, body := a.send(t, http.MethodGet, "/list/empty", "", nil); strings.TrimSpace(body) != "[]" {
		t.Errorf("empty: %s", body)
	}
}

func FuzzCommands(f *testing.F) {
	for _, body := range []string{`{"command":"true"}`, `{"command":"'"}`, `{"command":"a\\"}`, `{`, `{"command":"\u0000"}`, `{"command":"true 'a b' \"c\" d\\ e"}`} {
		f.Add(body)
	}
	workspace, err := files.Open(f.TempDir())
	must(f, err)
	// No program can run: the limit on their number is reached.
	handler := legacy.NewHandler(legacy.Settings{
		Workspace: workspace, Limit: time.Second, Output: 10, Log: logr.Discard(),
		Programs: process.NewManager(process.Settings{Family: process.NewFamily(), Now: time.Now, Log: logr.Discard()}),
	})
	f.Fuzz(func(t *testing.T, body string) {
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, httptest.NewRequest(http.MethodPost, "/execute", strings.NewReader(body)))
		var got result
		if err := json.Unmarshal(recorded.Body.Bytes(), &got); err != nil || recorded.Code != http.StatusOK || got.ExitCode == nil || *got.ExitCode != 1 {
			t.Errorf("status %d, %s, %v", recorded.Code, recorded.Body, err)
		}
	})
}
