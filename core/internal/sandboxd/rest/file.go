package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
)

// fileField is the part of a form that holds the file.
const fileField = "file"

func (h *handler) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		h.get(w, r, name)
	case http.MethodPut:
		h.done(w, r, h.put(r, name))
	case http.MethodDelete:
		h.done(w, r, h.remove(r, name))
	default:
		h.refuseMethod(w, r, "GET, HEAD, PUT, DELETE")
	}
}

func (h *handler) done(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) get(w http.ResponseWriter, r *http.Request, name string) {
	file, err := h.Workspace.Open(name)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if file.Info.IsDir() {
		h.list(w, r, file)
	} else {
		// Without a type, the content would be read to guess one.
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		served := &ranged{ResponseWriter: w}
		http.ServeContent(served, r, "", file.Info.ModTime(), file.File)
		if served.refused {
			h.write(w, http.StatusRequestedRangeNotSatisfiable, refusal{Code: "INVALID_ARGUMENT", Message: strings.TrimSpace(served.why.String())})
		}
	}
	if err := file.Close(); err != nil {
		h.Log.Error(err, "A file was not closed", "path", name)
	}
}

// ranged is where http.ServeContent writes to. A range that it refuses is not answered yet, for that to look as every error does.
type ranged struct {
	http.ResponseWriter
	refused bool
	why     strings.Builder
}

// WriteHeader implements http.ResponseWriter.
func (c *ranged) WriteHeader(status int) {
	if c.refused = status == http.StatusRequestedRangeNotSatisfiable; !c.refused {
		c.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (c *ranged) Write(p []byte) (int, error) {
	if c.refused {
		return c.why.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom, by which the kernel copies a file.
func (c *ranged) ReadFrom(from io.Reader) (int64, error) {
	if c.refused {
		return io.Copy(&c.why, from)
	}
	return io.Copy(c.ResponseWriter, from)
}

type entry struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Type       string `json:"type"`
	ModifiedAt string `json:"modified_at"`
	Mode       string `json:"mode"`
}

func entryOf(e files.Entry) entry {
	return entry{Name: e.Name, Size: e.Size, Type: e.Kind(), ModifiedAt: e.Modified.UTC().Format(time.RFC3339), Mode: fmt.Sprintf("%#04o", e.Mode)}
}

// list writes entries as it comes to them, so that a large directory takes no more memory than its names.
func (h *handler) list(w http.ResponseWriter, r *http.Request, directory *files.File) {
	entries, err := directory.Entries()
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	path, err := json.Marshal(directory.Name)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := &answer{to: w}
	out.write(`{"path":` + string(path) + `,"entries":[`)
	separator := ""
	for e := range entries {
		text, err := json.Marshal(entryOf(e))
		if out.write(separator + string(text)); err != nil || out.err != nil {
			break
		}
		separator = ","
	}
	out.write("]}\n")
	if out.err != nil {
		h.Log.V(1).Info("A listing was not taken", "path", directory.Name, "error", out.err.Error())
	}
}

// answer remembers that something could not be written.
type answer struct {
	to  io.Writer
	err error
}

func (a *answer) write(text string) {
	if a.err == nil {
		_, a.err = io.WriteString(a.to, text)
	}
}

func (h *handler) put(r *http.Request, name string) error {
	mode, err := modeOf(r.URL.Query().Get("mode"))
	if err != nil {
		return err
	}
	body, err := content(r)
	if err != nil {
		return err
	}
	return h.Workspace.Write(name, mode, body)
}

// modeOf reads the permissions of a file, as in 0644.
func modeOf(text string) (fs.FileMode, error) {
	if text == "" {
		return files.DefaultMode, nil
	}
	if !regexp.MustCompile(`^0[0-7]{3}$`).MatchString(text) {
		return 0, fault.New(fault.Invalid, "mode=%q: must be 0 and three octal digits, as 0644", text)
	}
	mode, err := strconv.ParseUint(text, 8, 32)
	return fs.FileMode(mode), err
}

// content is the body, or the file in it where it is a form.
func content(r *http.Request) (io.Reader, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return r.Body, nil
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, fault.New(fault.Invalid, "reading the form: %v", err)
	}
	for {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fault.New(fault.Invalid, "the form has no field %q: put the file there, or send it as the body", fileField)
		case err != nil:
			return nil, fault.New(fault.Invalid, "reading the form: %v", err)
		case part.FormName() == fileField:
			return part, nil
		}
	}
}

func (h *handler) remove(r *http.Request, name string) error {
	switch text := r.URL.Query().Get("recursive"); text {
	case "", "false":
		return h.Workspace.Remove(name)
	case "true":
		return h.Workspace.RemoveAll(name)
	default:
		return fault.New(fault.Invalid, "recursive=%q: must be true or false", text)
	}
}
