package legacy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
)

// Runtime is the runtime of one sandbox. It is safe for concurrent use.
type Runtime struct {
	caller *transport.Caller
	port   int
}

// New returns the Runtime that answers on a port of the sandbox.
func New(caller *transport.Caller, port int) *Runtime { return &Runtime{caller: caller, port: port} }

// Run has a command run, which is split as a shell does, without one. What kept it from running is told by the runtime on standard error,
// with exit code 1.
func (r *Runtime) Run(ctx context.Context, command string, attempts transport.Attempts) (guest.Result, error) {
	content, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return guest.Result{}, err
	}
	var told struct {
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
		ExitCode int    `json:"exit_code"`
	}
	err = r.ask(ctx, transport.Call{
		Method: http.MethodPost, Path: "/execute", Header: http.Header{"Content-Type": {"application/json"}}, Attempts: attempts,
		Body: func() (io.Reader, int64) { return bytes.NewReader(content), int64(len(content)) },
	}, guest.MaxRunResponse, &told)
	return guest.Result{Stdout: told.Stdout, Stderr: told.Stderr, ExitCode: told.ExitCode}, err
}

// Write writes a file of the runtime's directory. This runtime knows no directories in names.
func (r *Runtime) Write(ctx context.Context, path string, content transport.Body, attempts transport.Attempts) error {
	if path == "" || path == "." || path == ".." || strings.ContainsAny(path, `/\`) {
		return fmt.Errorf("path %q: %w: it writes plain file names only; leave the directories out, or use the runtime sandboxd", path, guest.ErrUnsupported)
	}
	form, err := newForm(path)
	if err != nil {
		return err
	}
	answer, err := r.caller.Do(ctx, transport.Call{
		Method: http.MethodPost, Port: r.port, Path: "/upload", Header: http.Header{"Content-Type": {form.contentType}}, Attempts: attempts,
		Body: func() (io.Reader, int64) { return form.around(content()) },
	})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Read opens a file for reading. The caller closes it.
func (r *Runtime) Read(ctx context.Context, path string, attempts transport.Attempts) (io.ReadCloser, error) {
	answer, err := r.caller.Do(ctx, transport.Call{
		Method: http.MethodGet, Port: r.port, Path: "/download/" + transport.EscapePath(path), Attempts: attempts,
	})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// List lists a directory.
func (r *Runtime) List(ctx context.Context, path string, attempts transport.Attempts) ([]guest.Entry, error) {
	var told []struct {
		Name    string  `json:"name"`
		Size    int64   `json:"size"`
		Type    string  `json:"type"`
		ModTime float64 `json:"mod_time"`
	}
	call := transport.Call{Method: http.MethodGet, Path: "/list/" + transport.EscapePath(path), Attempts: attempts}
	if err := r.ask(ctx, call, guest.MaxListResponse, &told); err != nil {
		return nil, err
	}
	entries := make([]guest.Entry, 0, len(told))
	for _, entry := range told {
		seconds, fraction := math.Modf(entry.ModTime)
		entries = append(entries, guest.Entry{
			Name: entry.Name, Size: entry.Size, Type: entry.Type, ModTime: time.Unix(int64(seconds), int64(fraction*float64(time.Second))).UTC(),
		})
	}
	return entries, nil
}

// Exists reports whether a path exists.
func (r *Runtime) Exists(ctx context.Context, path string, attempts transport.Attempts) (bool, error) {
	var told struct {
		Exists bool `json:"exists"`
	}
	call := transport.Call{Method: http.MethodGet, Path: "/exists/" + transport.EscapePath(path), Attempts: attempts}
	err := r.ask(ctx, call, guest.MaxListResponse, &told)
	return told.Exists, err
}

// Delete is not part of this API.
func (r *Runtime) Delete(context.Context, string, transport.Attempts) error {
	return fmt.Errorf("%w: it deletes no files; run a command that does, or use the runtime sandboxd", guest.ErrUnsupported)
}

// ask reads an answer in JSON of at most limit bytes.
func (r *Runtime) ask(ctx context.Context, call transport.Call, limit int64, into any) error {
	call.Port = r.port
	return r.caller.Ask(ctx, call, limit, into)
}

// form is an upload of one file whose content is not held in memory.
type form struct {
	contentType string
	head, tail  []byte
}

func newForm(name string) (form, error) {
	var text bytes.Buffer
	writer := multipart.NewWriter(&text)
	if _, err := writer.CreateFormFile("file", name); err != nil {
		return form{}, fmt.Errorf("preparing the upload of %q: %w", name, err)
	}
	head := bytes.Clone(text.Bytes())
	if err := writer.Close(); err != nil {
		return form{}, fmt.Errorf("preparing the upload of %q: %w", name, err)
	}
	return form{contentType: writer.FormDataContentType(), head: head, tail: bytes.Clone(text.Bytes()[len(head):])}, nil
}

// around puts the form around a file of length bytes, or -1 where that is not known, and returns its own length likewise.
func (f form) around(content io.Reader, length int64) (io.Reader, int64) {
	if length >= 0 {
		length += int64(len(f.head) + len(f.tail))
	}
	return io.MultiReader(bytes.NewReader(f.head), content, bytes.NewReader(f.tail)), length
}
