package legacy

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/process"
)

// Settings are what the API is made of.
type Settings struct {
	// Workspace is the base directory: programs run in it, and files are below it.
	Workspace *files.Workspace
	Programs  *process.Manager
	// Limit is how long a program may run.
	Limit time.Duration
	// Output is how many bytes of each stream of a program are returned.
	Output int
	Log    logr.Logger
}

type handler struct{ Settings }

// NewHandler returns the API.
func NewHandler(settings Settings) http.Handler { return &handler{settings} }

// route is one path, or all paths that begin with it where it ends with a slash.
type route struct {
	method, path string
	serve        func(w http.ResponseWriter, r *http.Request, rest string)
}

func (h *handler) routes() []route {
	return []route{
		{http.MethodGet, "/", h.health},
		{http.MethodPost, "/execute", h.execute},
		{http.MethodPost, "/upload", h.upload},
		{http.MethodGet, "/download/", h.download},
		{http.MethodGet, "/list/", h.list},
		{http.MethodGet, "/exists/", h.exists},
	}
}

// ServeHTTP does not go by http.ServeMux, which redirects where a path holds .. or two slashes.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, route := range h.routes() {
		rest, ok := route.match(r.URL.Path)
		switch {
		case !ok:
		case route.method == r.Method, route.method == http.MethodGet && r.Method == http.MethodHead:
			route.serve(w, r, rest)
			return
		default:
			w.Header().Set("Allow", route.method)
			h.write(w, http.StatusMethodNotAllowed, message{"method " + r.Method + " is not " + route.method})
			return
		}
	}
	h.refuse(w, r, fault.New(fault.NotFound, "path %q: there are /, /execute, /upload, /download/{path}, /list/{path} and /exists/{path}", r.URL.Path))
}

// match returns what stands behind a path that ends with a slash. The root of all paths is itself alone; the base directory may be named
// without its slash.
func (r route) match(path string) (string, bool) {
	if r.path == "/" || !strings.HasSuffix(r.path, "/") {
		return "", path == r.path
	}
	return strings.CutPrefix(strings.TrimSuffix(path, "/")+"/", r.path)
}

type message struct {
	Message string `json:"message"`
}

func (h *handler) write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		h.Log.V(1).Info("An answer was not taken", "error", err.Error())
	}
}

// refuse answers with one of the few statuses that clients of this API know.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	switch fault.KindOf(err) {
	case fault.Forbidden:
		status = http.StatusForbidden
	case fault.NotFound, fault.Conflict, fault.Invalid, fault.Premature:
		status = http.StatusNotFound
	case fault.Internal, fault.Exhausted, fault.Late, fault.Unavailable:
		h.Log.Error(err, "A request went wrong", "method", r.Method, "path", r.URL.Path)
	}
	h.write(w, status, message{err.Error()})
}

type health struct {
	Status string `json:"status"`
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request, _ string) {
	h.write(w, http.StatusOK, health{Status: "ok"})
}
