package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/files"
)

const (
	filesPrefix  = "/v1/files/"
	healthPath   = "/v1/health"
	metadataPath = "/v1/metadata"
)

// Settings are what the API is made of.
type Settings struct {
	Workspace *files.Workspace
	// Metadata are the variables that /v1/metadata tells.
	Metadata map[string]string
	Now      func() time.Time
	Log      logr.Logger
}

type handler struct {
	Settings

	started time.Time
}

// NewHandler returns the API.
func NewHandler(settings Settings) http.Handler {
	return &handler{Settings: settings, started: settings.Now()}
}

// ServeHTTP does not go by http.ServeMux, which redirects where a path holds .. or two slashes: clients do not follow, and what is wrong with
// such a path is for the workspace to say.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch name, isFile := strings.CutPrefix(r.URL.Path+"/", filesPrefix); {
	case isFile:
		h.serveFile(w, r, strings.TrimSuffix(name, "/"))
	case r.URL.Path == healthPath:
		h.serveValue(w, r, health{Status: "ok", UptimeSeconds: int64(h.Now().Sub(h.started).Seconds())})
	case r.URL.Path == metadataPath:
		h.serveValue(w, r, metadata{Env: h.Metadata})
	default:
		h.refuse(w, r, fault.New(fault.NotFound, "path %q: there are %s{path}, %s and %s", r.URL.Path, filesPrefix, healthPath, metadataPath))
	}
}

type health struct {
	Status        string `json:"status"`
	UptimeSeconds int64  `json:"uptime_seconds"`
}

type metadata struct {
	Env map[string]string `json:"env"`
}

func (h *handler) serveValue(w http.ResponseWriter, r *http.Request, value any) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.refuseMethod(w, r, "GET, HEAD")
		return
	}
	h.write(w, http.StatusOK, value)
}

func (h *handler) write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		h.Log.V(1).Info("An answer was not taken", "error", err.Error())
	}
}

// refusal is what every error looks like.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// refuse answers with what the kind of err has as its status and code.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, code := statusOf(fault.KindOf(err))
	if status == http.StatusInternalServerError {
		h.Log.Error(err, "A request went wrong", "method", r.Method, "path", r.URL.Path)
	}
	h.write(w, status, refusal{Code: code, Message: err.Error()})
}

func (h *handler) refuseMethod(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	h.write(w, http.StatusMethodNotAllowed, refusal{Code: "INVALID_ARGUMENT", Message: "method " + r.Method + " is none of " + allowed})
}

func statusOf(kind fault.Kind) (int, string) {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest, "INVALID_ARGUMENT"
	case fault.Forbidden:
		return http.StatusForbidden, "PERMISSION_DENIED"
	case fault.NotFound:
		return http.StatusNotFound, "NOT_FOUND"
	case fault.Conflict, fault.Premature:
		return http.StatusConflict, "CONFLICT"
	case fault.Unavailable, fault.Exhausted, fault.Late:
		return http.StatusServiceUnavailable, "UNAVAILABLE"
	case fault.Internal:
	}
	return http.StatusInternalServerError, "INTERNAL"
}
