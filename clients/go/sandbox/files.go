package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/guest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/transport"
)

// FileEntry is one in a directory.
type FileEntry struct {
	// Name within the directory.
	Name string
	// Size in bytes.
	Size int64
	// Type is "file" or "directory".
	Type string
	// ModTime is when it was changed last.
	ModTime time.Time
	// Mode holds its permissions in octal, as "0644"; empty where the runtime does not tell.
	Mode string
}

// Files moves files in and out of a sandbox. Paths start at the directory that the runtime serves, with or without a slash in front.
type Files struct{ sandbox *Sandbox }

// Files returns what moves files in and out of the sandbox.
func (s *Sandbox) Files() *Files { return &Files{sandbox: s} }

// Write is Files().Write.
func (s *Sandbox) Write(ctx context.Context, path string, content []byte, options ...CallOption) error {
	return s.Files().Write(ctx, path, content, options...)
}

// Read is Files().Read.
func (s *Sandbox) Read(ctx context.Context, path string, options ...CallOption) ([]byte, error) {
	return s.Files().Read(ctx, path, options...)
}

// List is Files().List.
func (s *Sandbox) List(ctx context.Context, path string, options ...CallOption) ([]FileEntry, error) {
	return s.Files().List(ctx, path, options...)
}

// Exists is Files().Exists.
func (s *Sandbox) Exists(ctx context.Context, path string, options ...CallOption) (bool, error) {
	return s.Files().Exists(ctx, path, options...)
}

// Delete is Files().Delete.
func (s *Sandbox) Delete(ctx context.Context, path string, options ...CallOption) error {
	return s.Files().Delete(ctx, path, options...)
}

// Write writes a file of MaxUploadSize at most; WriteFrom has no such limit. Up to 6 attempts are made where the answer may pass. The
// runtime legacy-python takes plain file names only: others are ErrUnsupportedByRuntime.
func (f *Files) Write(ctx context.Context, path string, content []byte, options ...CallOption) error {
	if limit := f.sandbox.client.options.MaxUploadSize; int64(len(content)) > limit {
		return fmt.Errorf("writing %q: %d bytes are more than MaxUploadSize, %d: use WriteFrom, or raise it", path, len(content), limit)
	}
	return f.do(ctx, "write", options, func(ctx context.Context, over *link, settings call) error {
		body := transport.Body{Open: func() (io.Reader, int64) { return bytes.NewReader(content), int64(len(content)) }}
		return over.Write(ctx, path, body, f.sandbox.attempts(settings))
	})
}

// WriteFrom writes a file from a reader, in constant memory. The reader is read once, so there is one attempt, and no time limit unless
// ctx or WithTimeout gives one.
func (f *Files) WriteFrom(ctx context.Context, path string, content io.Reader, options ...CallOption) error {
	return f.within(ctx, 0, "write", options, func(ctx context.Context, over *link, settings call) error {
		// Nobody but the caller closes what he gave.
		body := transport.Body{Once: true, Open: func() (io.Reader, int64) { return io.NopCloser(content), -1 }}
		return over.Write(ctx, path, body, f.sandbox.attempts(settings))
	})
}

// Read reads a file of MaxDownloadSize at most, else the error is ErrResponseTooLarge; Open has no such limit. Up to 6 attempts are made.
func (f *Files) Read(ctx context.Context, path string, options ...CallOption) (content []byte, err error) {
	limit := f.sandbox.client.options.MaxDownloadSize
	err = f.do(ctx, "read", options, func(ctx context.Context, over *link, settings call) error {
		body, err := over.Read(ctx, path, f.sandbox.attempts(settings))
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		if content, err = io.ReadAll(io.LimitReader(body, limit+1)); err != nil {
			return fmt.Errorf("reading %q: %w", path, err)
		}
		if int64(len(content)) > limit {
			return guest.TooLarge(fmt.Sprintf("file %q", path), limit)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Open opens a file for reading, in constant memory. The caller closes it. There is no time limit unless ctx or WithTimeout gives one.
func (f *Files) Open(ctx context.Context, path string, options ...CallOption) (_ io.ReadCloser, err error) {
	ctx, span := f.sandbox.start(ctx, "read")
	defer func() {
		if err != nil {
			finish(span, err)
		}
	}()
	settings, err := callOf(0, fileAttempts, options)
	if err != nil {
		return nil, err
	}
	over, err := f.sandbox.connected()
	if err != nil {
		return nil, err
	}
	ctx, stop := settings.limited(ctx)
	body, err := over.Read(ctx, path, f.sandbox.attempts(settings))
	if err != nil {
		err = f.sandbox.failed(ctx, over, err)
		stop()
		return nil, err
	}
	return &file{ctx: ctx, stop: stop, over: over, span: span, body: body}, nil
}

// List lists a directory, whose listing may have 8 MiB: else the error is ErrResponseTooLarge. Up to 6 attempts are made.
func (f *Files) List(ctx context.Context, path string, options ...CallOption) ([]FileEntry, error) {
	var entries []FileEntry
	err := f.do(ctx, "list", options, func(ctx context.Context, over *link, settings call) error {
		listed, err := over.List(ctx, path, f.sandbox.attempts(settings))
		for _, entry := range listed {
			entries = append(entries, FileEntry(entry))
		}
		return err
	})
	return entries, err
}

// Exists reports whether there is a file or directory of that path. Up to 6 attempts are made.
func (f *Files) Exists(ctx context.Context, path string, options ...CallOption) (exists bool, err error) {
	err = f.do(ctx, "exists", options, func(ctx context.Context, over *link, settings call) error {
		exists, err = over.Exists(ctx, path, f.sandbox.attempts(settings))
		return err
	})
	return exists, err
}

// Delete deletes a file, or a directory with all below it. Up to 6 attempts are made. The runtime legacy-python has no such thing:
// ErrUnsupportedByRuntime.
func (f *Files) Delete(ctx context.Context, path string, options ...CallOption) error {
	return f.do(ctx, "delete", options, func(ctx context.Context, over *link, settings call) error {
		return over.Delete(ctx, path, f.sandbox.attempts(settings))
	})
}

// operation is what is done over a link.
type operation func(ctx context.Context, over *link, settings call) error

// do does an operation within RequestTimeout.
func (f *Files) do(ctx context.Context, name string, options []CallOption, operate operation) error {
	return f.within(ctx, f.sandbox.client.options.RequestTimeout, name, options, operate)
}

// within does an operation within a limit; 0 means none.
func (f *Files) within(ctx context.Context, limit time.Duration, name string, options []CallOption, operate operation) (err error) {
	ctx, span := f.sandbox.start(ctx, name)
	defer func() { finish(span, err) }()
	settings, err := callOf(limit, fileAttempts, options)
	if err != nil {
		return err
	}
	over, err := f.sandbox.connected()
	if err != nil {
		return err
	}
	ctx, stop := settings.limited(ctx)
	defer stop()
	return f.sandbox.failed(ctx, over, operate(ctx, over, settings))
}

// file is one that is being read.
type file struct {
	ctx  context.Context
	stop context.CancelFunc
	over *link
	span trace.Span
	body io.ReadCloser
}

// Read implements io.Reader.
func (f *file) Read(into []byte) (int, error) {
	n, err := f.body.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed(f.ctx, f.over, err)
	}
	return n, err
}

// Close implements io.Closer.
func (f *file) Close() error {
	defer f.stop()
	err := f.body.Close()
	finish(f.span, err)
	return err
}
