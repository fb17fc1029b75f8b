package legacy

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
)

// fileField is the part of a form that holds the file.
const fileField = "file"

func (h *handler) upload(w http.ResponseWriter, r *http.Request, _ string) {
	name, err := h.store(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.write(w, http.StatusOK, message{fmt.Sprintf("%s is uploaded", name)})
}

// store writes the file of a form and returns its name.
func (h *handler) store(r *http.Request) (string, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return "", fault.New(fault.Invalid, "reading the form: %v", err)
	}
	for {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return "", fault.New(fault.Invalid, "the form has no field %q with a file", fileField)
		case err != nil:
			return "", fault.New(fault.Invalid, "reading the form: %v", err)
		case part.FormName() != fileField:
			continue
		}
		name, err := filename(part)
		if err != nil {
			return "", err
		}
		return name, h.Workspace.Write(name, files.DefaultMode, part)
	}
}

// filename is that of a part with its directories, which Part.FileName leaves out.
func filename(part *multipart.Part) (string, error) {
	_, fields, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil || fields["filename"] == "" {
		return "", fault.New(fault.Invalid, "the field %q of the form has no file name", fileField)
	}
	return fields["filename"], nil
}

func (h *handler) download(w http.ResponseWriter, r *http.Request, name string) {
	file, err := h.Workspace.Open(name)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if file.Info.IsDir() {
		h.refuse(w, r, fault.New(fault.NotFound, "path %q is a directory: /list/ tells what is in it", name))
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", file.Info.ModTime(), file.File)
	}
	if err := file.Close(); err != nil {
		h.Log.Error(err, "A file was not closed", "path", name)
	}
}

type entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Type string `json:"type"`
	// ModTime is in seconds since 1970.
	ModTime float64 `json:"mod_time"`
}

func entryOf(e files.Entry) entry {
	return entry{Name: e.Name, Size: e.Size, Type: e.Kind(), ModTime: float64(e.Modified.UnixNano()) / 1e9}
}

func (h *handler) list(w http.ResponseWriter, r *http.Request, name string) {
	listed, err := h.entries(name)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.write(w, http.StatusOK, listed)
}

func (h *handler) entries(name string) ([]entry, error) {
	directory, err := h.Workspace.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = directory.Close() }()
	if !directory.Info.IsDir() {
		return nil, fault.New(fault.NotFound, "path %q is no directory: /download/ tells what is in it", name)
	}
	found, err := directory.Entries()
	if err != nil {
		return nil, err
	}
	listed := []entry{}
	for e := range found {
		listed = append(listed, entryOf(e))
	}
	return listed, nil
}

type existence struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
}

func (h *handler) exists(w http.ResponseWriter, r *http.Request, name string) {
	exists, err := h.Workspace.Exists(name)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.write(w, http.StatusOK, existence{Path: name, Exists: exists})
}
