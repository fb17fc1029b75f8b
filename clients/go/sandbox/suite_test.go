package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/apitest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const (
	team  = "team"
	pool  = "pool"
	podIP = "10.1.2.3"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// cluster is an API server, and a controller that gives each claim a Sandbox at once.
type cluster struct {
	*apitest.Server
	// answer, if set, is the condition Ready that claims get in place of a Sandbox.
	answer *metav1.Condition
	// idle has claims wait for ever.
	idle bool
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: &apitest.Server{}}
	c.Created = func(object *unstructured.Unstructured) {
		var claim extensionsv1beta1.SandboxClaim
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &claim); err == nil && object.GetKind() == extensionsv1beta1.SandboxClaimKind {
			c.reconcile(t, &claim)
		}
	}
	c.Start(t)
	return c
}

func (c *cluster) reconcile(t *testing.T, claim *extensionsv1beta1.SandboxClaim) {
	switch {
	case c.idle:
	case c.answer != nil:
		claim.Status.Conditions = []metav1.Condition{*c.answer}
		c.Set(t, "sandboxclaims", claim)
	default:
		c.bind(t, claim)
	}
}

// bind gives a claim a Sandbox from a pool, whose name is another than the claim's.
func (c *cluster) bind(t *testing.T, claim *extensionsv1beta1.SandboxClaim) {
	t.Helper()
	sb := &sandboxv1beta1.Sandbox{
		TypeMeta: metav1.TypeMeta{APIVersion: sandboxv1beta1.GroupVersion.String(), Kind: sandboxv1beta1.SandboxKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: member(claim.Name), Generation: 1, Annotations: map[string]string{sandboxv1beta1.AnnotationPodName: member(claim.Name)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(claim, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind))},
		},
		Status: sandboxv1beta1.SandboxStatus{PodIPs: []string{podIP}, Conditions: []metav1.Condition{isReady(1)}},
	}
	c.Set(t, "sandboxes", sb)
	claim.Status = extensionsv1beta1.SandboxClaimStatus{
		Conditions: []metav1.Condition{isReady(claim.Generation)}, Sandbox: extensionsv1beta1.ClaimedSandbox{Name: sb.Name, PodIPs: []string{podIP}},
	}
	c.Set(t, "sandboxclaims", claim)
}

func member(claim string) string { return "pool-" + claim }

func isReady(generation int64) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "DependenciesReady", ObservedGeneration: generation}
}

func isNotReady(reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// guest stands for a router and a sandbox behind it that speaks the older runtime API.
type guest struct {
	*httptest.Server
	// answer answers in place of the guest, if it returns true.
	answer func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []*http.Request
	files map[string]string
}

func newGuest(t *testing.T) *guest {
	t.Helper()
	g := &guest{files: map[string]string{}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

// ServeHTTP implements http.Handler.
func (g *guest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, r)
	if g.answer != nil && g.answer(w, r) {
		return
	}
	what, name, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	content, exists := g.files[name]
	switch what {
	case "execute":
		var asked struct {
			Command string `json:"command"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked) // an empty command shows it
		reply(w, map[string]any{"stdout": asked.Command, "stderr": "quiet", "exit_code": 3})
	case "upload":
		file, header, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		written, _ := io.ReadAll(file) // what is missing fails the test
		g.files[header.Filename] = string(written)
	case "exists":
		reply(w, map[string]any{"path": name, "exists": exists})
	case "list":
		reply(w, []map[string]any{{"name": "a.txt", "size": 2, "type": "file", "mod_time": 1.5}})
	case "download":
		if !exists {
			http.Error(w, `{"message": "no such file"}`, http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, content) // what is missing fails the test
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // what is missing fails the test
}

func (g *guest) requests() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// do has the guest answer in another way from now on.
func (g *guest) do(answer func(w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer, g.asked = answer, nil
}

// newClient reaches the guest directly.
func newClient(t *testing.T, c *cluster, g *guest, modify ...func(*sandbox.Options)) *sandbox.Client {
	t.Helper()
	o := sandbox.Options{RESTConfig: c.Config(), APIURL: g.URL, Namespace: team, WarmPoolName: pool, Quiet: true, SandboxReadyTimeout: 20 * time.Second}
	for _, change := range modify {
		change(&o)
	}
	client, err := sandbox.NewClient(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func mustCreate(t *testing.T, client *sandbox.Client, options ...sandbox.CreateOption) *sandbox.Sandbox {
	t.Helper()
	sb, err := client.CreateSandbox(t.Context(), "", "", options...)
	if err != nil {
		t.Fatal(err)
	}
	// t.Context has ended when cleanups run.
	t.Cleanup(func() { client.Forget(sb) })
	return sb
}

// relay copies between a stream and the guest, as the kubelet does.
func (g *guest) relay(t *testing.T) func(string, io.ReadWriteCloser) {
	t.Helper()
	return func(_ string, stream io.ReadWriteCloser) {
		conn, err := net.Dial("tcp", g.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			_, _ = io.Copy(conn, stream)
			_ = conn.Close()
		}()
		_, _ = io.Copy(stream, conn)
		_ = stream.Close()
	}
}

// eventually looks until check returns nothing, which says what is missing.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for missing := check(); missing != ""; missing = check() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("waited in vain: ", missing)
		}
	}
}

func claimsLeft(c *cluster) string {
	if left := c.Names(team, "sandboxclaims"); len(left) > 0 {
		return fmt.Sprintf("claims are left: %v", left)
	}
	return ""
}
