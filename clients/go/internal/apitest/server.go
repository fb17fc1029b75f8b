// Package apitest stands for the API server where a test has to decide what happens when: objects, and watches on them, over real HTTP.
package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Server keeps objects. Fill it in before Start.
type Server struct {
	// Created is called for each object that was created, before the answer goes out.
	Created func(*unstructured.Unstructured)
	// Refuse answers a request in place of the server, if it returns an error.
	Refuse func(*http.Request) *apierrors.StatusError
	// Forward answers requests to forward ports of Pods; nil refuses them.
	Forward http.Handler

	url      string
	stopped  chan struct{}
	mu       sync.Mutex
	version  int
	objects  map[string]*unstructured.Unstructured
	watchers map[*watcher]bool
	asked    map[string]int
}

type watcher struct {
	prefix, name string
	events       chan metav1.WatchEvent
	broken       chan struct{}
}

// Start serves on a loopback port until the test ends.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.objects, s.watchers, s.asked = map[string]*unstructured.Unstructured{}, map[*watcher]bool{}, map[string]int{}
	s.stopped = make(chan struct{})
	server := httptest.NewServer(s)
	s.url = server.URL
	t.Cleanup(func() {
		close(s.stopped)
		server.CloseClientConnections()
		server.Close()
	})
}

// Config reaches the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.url} }

// Asked is how often that was asked for, as "create sandboxclaims" or "watch sandboxclaims".
func (s *Server) Asked(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[what]
}

// Set creates or replaces an object of a resource, as "sandboxclaims".
func (s *Server) Set(t testing.TB, resource string, object runtime.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	s.SetContent(resource, content)
}

// SetContent is Set of an object that has no type here.
func (s *Server) SetContent(resource string, content map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := &unstructured.Unstructured{Object: content}
	s.store(path(object.GetNamespace(), resource, object.GetName()), object)
}

// Names are those of the objects of a resource, in no order.
func (s *Server) Names(namespace, resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for key, object := range s.objects {
		if strings.HasPrefix(key, path(namespace, resource, "")) {
			names = append(names, object.GetName())
		}
	}
	return names
}

// Read reads an object into what into points to. It is false if there is none.
func (s *Server) Read(namespace, resource, name string, into any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[path(namespace, resource, name)]
	return object != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
}

// Remove deletes an object.
func (s *Server) Remove(namespace, resource, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(path(namespace, resource, name))
}

// Break ends all watches, as a restart of the API server does.
func (s *Server) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for each := range s.watchers {
		close(each.broken)
	}
	clear(s.watchers)
}

// Watches is how many are under way.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watchers)
}

func path(namespace, resource, name string) string { return namespace + "/" + resource + "/" + name }

// store is called with the lock held.
func (s *Server) store(key string, object *unstructured.Unstructured) {
	s.version++
	kind := "MODIFIED"
	if s.objects[key] == nil {
		kind = "ADDED"
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	}
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[key] = object
	s.tell(key, kind, object)
}

// remove is called with the lock held.
func (s *Server) remove(key string) {
	if object := s.objects[key]; object != nil {
		delete(s.objects, key)
		s.tell(key, "DELETED", object)
	}
}

func (s *Server) tell(key, kind string, object *unstructured.Unstructured) {
	content, err := json.Marshal(object)
	if err != nil {
		return
	}
	for each := range s.watchers {
		if strings.HasPrefix(key, each.prefix) && (each.name == "" || each.name == object.GetName()) {
			each.events <- metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: content}}
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/portforward") && s.Forward != nil {
		s.Forward.ServeHTTP(w, r)
		return
	}
	verb, target := s.read(r)
	s.mu.Lock()
	s.asked[verb+" "+target.resource]++
	s.mu.Unlock()
	if s.Refuse != nil {
		if refusal := s.Refuse(r); refusal != nil {
			answer(w, int(refusal.ErrStatus.Code), refusal.ErrStatus)
			return
		}
	}
	switch verb {
	case "create":
		s.create(w, r, target)
	case "watch":
		s.watch(w, r, target)
	case "list":
		s.list(w, target)
	case "delete":
		s.delete(w, r, target)
	case "patch":
		s.patch(w, r, target)
	default:
		s.get(w, target)
	}
}

// target is what a request is about.
type target struct{ namespace, resource, name string }

func (t target) key() string { return path(t.namespace, t.resource, t.name) }

func (t target) missing() *apierrors.StatusError {
	return apierrors.NewNotFound(schema.GroupResource{Resource: t.resource}, t.name)
}

// read takes /apis/<group>/<version>/namespaces/<namespace>/<resource>[/<name>] apart.
func (s *Server) read(r *http.Request) (string, target) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for len(parts) < 7 {
		parts = append(parts, "")
	}
	to := target{namespace: parts[4], resource: parts[5], name: parts[6]}
	switch {
	case r.Method == http.MethodPost:
		return "create", to
	case r.Method == http.MethodDelete:
		return "delete", to
	case r.Method == http.MethodPatch:
		return "patch", to
	case r.URL.Query().Get("watch") != "":
		return "watch", to
	case to.name == "":
		return "list", to
	default:
		return "get", to
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, to target) {
	object := &unstructured.Unstructured{}
	if err := json.NewDecoder(r.Body).Decode(&object.Object); err != nil {
		answer(w, http.StatusBadRequest, apierrors.NewBadRequest(err.Error()).ErrStatus)
		return
	}
	to.name = object.GetName()
	s.mu.Lock()
	exists := s.objects[to.key()] != nil
	if !exists {
		object.SetNamespace(to.namespace)
		object.SetGeneration(1)
		s.store(to.key(), object)
		object = object.DeepCopy()
	}
	s.mu.Unlock()
	if exists {
		refusal := apierrors.NewAlreadyExists(schema.GroupResource{Resource: to.resource}, to.name)
		answer(w, http.StatusConflict, refusal.ErrStatus)
		return
	}
	if s.Created != nil {
		s.Created(object.DeepCopy())
	}
	answer(w, http.StatusCreated, object)
}

func (s *Server) get(w http.ResponseWriter, to target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object := s.objects[to.key()]; object != nil {
		answer(w, http.StatusOK, object)
		return
	}
	answer(w, http.StatusNotFound, to.missing().ErrStatus)
}

func (s *Server) list(w http.ResponseWriter, to target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}}
	for key, object := range s.objects {
		if strings.HasPrefix(key, to.key()) {
			items = append(items, object.Object)
			list["apiVersion"], list["kind"] = object.GetAPIVersion(), object.GetKind()+"List"
		}
	}
	list["items"] = items
	answer(w, http.StatusOK, list)
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, to target) {
	var options metav1.DeleteOptions
	_ = json.NewDecoder(r.Body).Decode(&options) // there may be none
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[to.key()]
	switch {
	case object == nil:
		answer(w, http.StatusNotFound, to.missing().ErrStatus)
	case options.Preconditions != nil && options.Preconditions.UID != nil && *options.Preconditions.UID != object.GetUID():
		refusal := apierrors.NewConflict(schema.GroupResource{Resource: to.resource}, to.name, fmt.Errorf("the UID is %s", object.GetUID()))
		answer(w, http.StatusConflict, refusal.ErrStatus)
	default:
		s.remove(to.key())
		answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	}
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, to target) {
	patch := json.RawMessage{}
	err := json.NewDecoder(r.Body).Decode(&patch)
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[to.key()]
	if object == nil || err != nil {
		answer(w, http.StatusNotFound, to.missing().ErrStatus)
		return
	}
	before, _ := object.MarshalJSON() // it was read from JSON
	after, err := jsonpatch.MergePatch(before, patch)
	changed := &unstructured.Unstructured{}
	if err == nil {
		err = json.Unmarshal(after, &changed.Object)
	}
	switch {
	case err != nil:
		answer(w, http.StatusBadRequest, apierrors.NewBadRequest(err.Error()).ErrStatus)
	case changed.GetUID() != object.GetUID():
		refusal := apierrors.NewConflict(schema.GroupResource{Resource: to.resource}, to.name, fmt.Errorf("the UID is %s", object.GetUID()))
		answer(w, http.StatusConflict, refusal.ErrStatus)
	default:
		changed.SetGeneration(object.GetGeneration() + 1)
		s.store(to.key(), changed)
		answer(w, http.StatusOK, changed)
	}
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, to target) {
	const room = 1000
	name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion")) // none is from the start
	each := &watcher{prefix: to.key(), name: name, events: make(chan metav1.WatchEvent, room), broken: make(chan struct{})}
	s.mu.Lock()
	for key, object := range s.objects {
		version, _ := strconv.Atoi(object.GetResourceVersion()) // the server sets it
		if content, err := json.Marshal(object); err == nil && strings.HasPrefix(key, each.prefix) && object.GetName() == name && version > from {
			each.events <- metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: content}}
		}
	}
	s.watchers[each] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, each)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := func() { _ = http.NewResponseController(w).Flush() }
	flush()
	for {
		select {
		case event := <-each.events:
			if json.NewEncoder(w).Encode(event) != nil {
				return
			}
			flush()
		case <-each.broken:
			return
		case <-r.Context().Done():
			return
		case <-s.stopped:
			return
		}
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone does not read it
}
