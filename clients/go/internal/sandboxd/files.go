package sandboxd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
)

// octets is the type of what a file has.
const octets = "application/octet-stream"

// Write writes a file, at once or not at all, and makes the directories above it.
func (r *Runtime) Write(ctx context.Context, path string, content transport.Body, attempts transport.Attempts) error {
	answer, err := r.caller.Do(ctx, r.file(http.MethodPut, path, transport.Call{Body: content, Attempts: attempts}))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Read opens a file for reading. The caller closes it.
func (r *Runtime) Read(ctx context.Context, path string, attempts transport.Attempts) (io.ReadCloser, error) {
	answer, err := r.caller.Do(ctx, r.file(http.MethodGet, path, transport.Call{Attempts: attempts}))
	if err != nil {
		return nil, err
	}
	if isListing(answer) {
		return nil, errors.Join(fmt.Errorf("%q is a directory: list it", path), answer.Body.Close())
	}
	return answer.Body, nil
}

// isListing tells a directory from a file, even from one of JSON: the daemon says of files that their type is not to be guessed.
func isListing(answer *http.Response) bool {
	return answer.Header.Get("Content-Type") == "application/json" && answer.Header.Get("X-Content-Type-Options") == ""
}

// List lists a directory.
func (r *Runtime) List(ctx context.Context, path string, attempts transport.Attempts) ([]guest.Entry, error) {
	var told struct {
		Entries []struct {
			Name       string    `json:"name"`
			Size       int64     `json:"size"`
			Type       string    `json:"type"`
			ModifiedAt time.Time `json:"modified_at"`
			Mode       string    `json:"mode"`
		} `json:"entries"`
	}
	call := r.file(http.MethodGet, path, transport.Call{Attempts: attempts})
	answer, err := r.caller.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	if answer.Header.Get("Content-Type") == octets {
		return nil, errors.Join(fmt.Errorf("%q is a file: read it", path), answer.Body.Close())
	}
	if err := transport.Decode(ctx, call, answer, guest.MaxListResponse, &told); err != nil {
		return nil, err
	}
	entries := make([]guest.Entry, 0, len(told.Entries))
	for _, entry := range told.Entries {
		entries = append(entries, guest.Entry{Name: entry.Name, Size: entry.Size, Type: entry.Type, ModTime: entry.ModifiedAt.UTC(), Mode: entry.Mode})
	}
	return entries, nil
}

// Exists reports whether a path exists.
func (r *Runtime) Exists(ctx context.Context, path string, attempts transport.Attempts) (bool, error) {
	answer, err := r.caller.Do(ctx, r.file(http.MethodHead, path, transport.Call{Attempts: attempts}))
	var answered *transport.HTTPError
	switch {
	case errors.As(err, &answered) && answered.StatusCode == http.StatusNotFound:
		return false, nil
	case err != nil:
		return false, err
	}
	return true, answer.Body.Close()
}

// Delete deletes a file, or a directory and all below it.
func (r *Runtime) Delete(ctx context.Context, path string, attempts transport.Attempts) error {
	call := transport.Call{Query: url.Values{"recursive": {"true"}}, Attempts: attempts}
	answer, err := r.caller.Do(ctx, r.file(http.MethodDelete, path, call))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// file completes a call that is about a file.
func (r *Runtime) file(method, path string, call transport.Call) transport.Call {
	call.Method, call.Port, call.Path = method, r.ports.REST, "/v1/files/"+transport.EscapePath(path)
	if call.Body.Open != nil {
		call.Header = http.Header{"Content-Type": {octets}}
	}
	return call
}
