package sandbox_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel/tunneltest"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func TestASandboxIsClaimedUsedAndGivenBack(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	client := newClient(t, c, g)
	sb := mustCreate(t, client)
	if !sb.IsReady() || !strings.HasPrefix(sb.ClaimName(), "sandbox-") {
		t.Errorf("claim %q, ready: %v", sb.ClaimName(), sb.IsReady())
	}
	told := []string{sb.SandboxName(), sb.PodName(), sb.PodIP(), sb.Annotations()[sandboxv1beta1.AnnotationPodName]}
	if diff := cmp.Diff([]string{member(sb.ClaimName()), member(sb.ClaimName()), podIP, member(sb.ClaimName())}, told); diff != "" {
		t.Error(diff)
	}
	ran, err := sb.Run(t.Context(), "echo hello")
	if diff := cmp.Diff(&sandbox.ExecutionResult{Stdout: "echo hello", Stderr: "quiet", ExitCode: 3}, ran); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := sb.Write(t.Context(), "a.txt", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	content, err := sb.Read(t.Context(), "a.txt")
	if string(content) != "hi" || err != nil {
		t.Errorf("read %q, %v", content, err)
	}
	listed, err := sb.List(t.Context(), ".")
	want := []sandbox.FileEntry{{Name: "a.txt", Size: 2, Type: "file", ModTime: time.Unix(1, 5e8).UTC()}}
	if diff := cmp.Diff(want, listed); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if exists, err := sb.Exists(t.Context(), "b.txt"); exists || err != nil {
		t.Errorf("b.txt exists: %v, %v", exists, err)
	}
	if err := sb.Delete(t.Context(), "a.txt"); !errors.Is(err, sandbox.ErrUnsupportedByRuntime) {
		t.Errorf("got %v, want %v", err, sandbox.ErrUnsupportedByRuntime)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := claimsLeft(c); left != "" {
		t.Error(left)
	}
	if _, err := sb.Run(t.Context(), "echo"); !errors.Is(err, sandbox.ErrNotReady) {
		t.Errorf("after Close got %v, want %v", err, sandbox.ErrNotReady)
	}
}

func TestAClaimSaysWhoMadeItAndWhen(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g), sandbox.WithLifetime(time.Hour), sandbox.WithClaim(func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Labels = map[string]string{"mine": "yes"}
	}))
	var claim extensionsv1beta1.SandboxClaim
	if !c.Read(team, "sandboxclaims", sb.ClaimName(), &claim) {
		t.Fatal("there is no claim")
	}
	want := map[string]string{"mine": "yes", sandboxv1beta1.LabelCreatedBy: sandboxv1beta1.CreatedByGoClient}
	if diff := cmp.Diff(want, claim.Labels); diff != "" {
		t.Error(diff)
	}
	if _, err := time.Parse(time.RFC3339Nano, claim.Annotations[extensionsv1beta1.AnnotationClientRequestedAt]); err != nil {
		t.Error(err)
	}
	left := time.Until(claim.Spec.Lifecycle.ShutdownTime.Time)
	if left < 59*time.Minute || left > time.Hour || claim.Spec.Lifecycle.ShutdownPolicy != extensionsv1beta1.ShutdownPolicyDelete {
		t.Errorf("lifecycle %+v", claim.Spec.Lifecycle)
	}
}

// creating has a sandbox claimed under the name mine, and forgotten, and returns where it is told how that went.
func creating(t *testing.T, client *sandbox.Client) <-chan error {
	opened := make(chan error, 1)
	go func() {
		sb, err := client.CreateSandbox(t.Context(), "", "", sandbox.WithClaimName("mine"))
		if err == nil {
			client.Forget(sb)
		}
		opened <- err
	}()
	return opened
}

func TestOneWatchAndNoPolling(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	c.idle = true
	opened := creating(t, newClient(t, c, g))
	eventually(t, func() string {
		if c.Watches() == 0 {
			return "there is no watch"
		}
		return ""
	})
	var claim extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", "mine", &claim)
	c.bind(t, &claim)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, what := range []string{"create sandboxclaims", "watch sandboxclaims", "get sandboxclaims", "list sandboxclaims", "get sandboxes", "watch sandboxes"} {
		got[what] = c.Asked(what)
	}
	want := map[string]int{
		"create sandboxclaims": 1, "watch sandboxclaims": 1, "get sandboxclaims": 0, "list sandboxclaims": 0, "get sandboxes": 1, "watch sandboxes": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAWatchThatBreaksOffIsTakenUpAgain(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	c.idle = true
	opened := creating(t, newClient(t, c, g))
	for broken := 1; broken <= 2; broken++ {
		eventually(t, func() string {
			if c.Watches() == 0 || c.Asked("watch sandboxclaims") < broken {
				return "there is no watch"
			}
			return ""
		})
		c.Break()
	}
	var claim extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", "mine", &claim)
	c.bind(t, &claim)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
}

func TestTheSameRequestGetsTheSameSandbox(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	first := mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"), sandbox.WithLifetime(time.Hour))
	if err := first.Renew(t.Context(), 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	var renewed extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", "mine", &renewed)
	c.bind(t, &renewed)
	label := func(value string) sandbox.CreateOption {
		return sandbox.WithClaim(func(claim *extensionsv1beta1.SandboxClaim) { claim.Labels = map[string]string{"for": value} })
	}
	env := sandbox.WithClaim(func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "A", Value: "1"}}
	})
	for name, test := range map[string]struct {
		pool     string
		options  []sandbox.CreateOption
		conflict string
	}{
		"the same, from another program":            {pool, []sandbox.CreateOption{sandbox.WithLifetime(time.Hour)}, ""},
		"another lifetime, since that is renewed":   {pool, []sandbox.CreateOption{sandbox.WithLifetime(time.Minute)}, ""},
		"another pool is another request":           {"other", []sandbox.CreateOption{sandbox.WithLifetime(time.Hour)}, "spec.warmPoolRef.name"},
		"without a lifetime, it is kept at its end": {pool, nil, "spec.lifecycle"},
		"another label is another request":          {pool, []sandbox.CreateOption{sandbox.WithLifetime(time.Hour), label("x")}, "label for"},
		"variables are another request":             {pool, []sandbox.CreateOption{sandbox.WithLifetime(time.Hour), env}, "spec.env"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, c, g)
			sb, err := client.CreateSandbox(t.Context(), test.pool, "", append(test.options, sandbox.WithClaimName("mine"))...)
			if test.conflict != "" {
				if !errors.Is(err, sandbox.ErrClaimConflict) || !strings.Contains(err.Error(), test.conflict) {
					t.Errorf("got %v, want %v that names %s", err, sandbox.ErrClaimConflict, test.conflict)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer client.Forget(sb)
			if sb.SandboxName() != first.SandboxName() {
				t.Errorf("got %s, want %s", sb.SandboxName(), first.SandboxName())
			}
		})
	}
	if got := c.Names(team, "sandboxclaims"); len(got) != 1 {
		t.Errorf("claims %v", got)
	}
}

// forwarding has a client reach the guest through the API server.
func forwarding(t *testing.T, c *cluster, g *guest) (*sandbox.Client, *tunneltest.Server) {
	t.Helper()
	tunnels := &tunneltest.Server{Serve: g.relay(t)}
	tunnels.Start(t)
	c.Forward = tunnels
	c.Set(t, "endpointslices", &discoveryv1.EndpointSlice{
		TypeMeta:   metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "agent-sandbox-system", Name: "router"},
		Ports:      []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
		Endpoints: []discoveryv1.Endpoint{
			{Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}, TargetRef: podRef("router-starting")},
			{Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}, TargetRef: podRef("router-1")},
		},
	})
	return newClient(t, c, g, func(o *sandbox.Options) { o.APIURL = "" }), tunnels
}

func TestConcurrentCallersShareOneSandbox(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	owner := mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("shared"))
	client, tunnels := forwarding(t, c, g)
	const callers = 12
	var wait sync.WaitGroup
	got := make([]*sandbox.Sandbox, callers)
	for i := range callers {
		wait.Go(func() {
			sb, err := client.GetSandbox(t.Context(), "shared", "")
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = sb
			if _, err := sb.Run(t.Context(), "true"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, sb := range got {
		if sb != got[0] {
			t.Error("two callers have handles of their own")
		}
	}
	if opened := tunnels.Opened(); opened != 1 {
		t.Errorf("%d port-forwards, want 1", opened)
	}
	if got, want := tunnels.Path(), "/api/v1/namespaces/agent-sandbox-system/pods/router-1/portforward"; got != want {
		t.Errorf("forwarded by %s, want %s", got, want)
	}
	if diff := cmp.Diff([]sandbox.Key{{Namespace: team, ClaimName: "shared"}}, client.ListActiveSandboxes()); diff != "" {
		t.Error(diff)
	}
	if err := got[0].Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := owner.Run(t.Context(), "true"); err != nil || claimsLeft(c) == "" {
		t.Errorf("the claim is gone, or its owner disturbed: %v", err)
	}
}

func TestAPortForwardThatDiedIsToldAndOpenedAgain(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	client, tunnels := forwarding(t, c, g)
	sb := mustCreate(t, client)
	if _, err := sb.Run(t.Context(), "true"); err != nil {
		t.Fatal(err)
	}
	if err := sb.Open(t.Context()); !errors.Is(err, sandbox.ErrAlreadyOpen) {
		t.Errorf("got %v, want %v", err, sandbox.ErrAlreadyOpen)
	}
	tunnels.Cut()
	eventually(t, func() string {
		if sb.IsReady() {
			return "it does not know that it lost its connection"
		}
		return ""
	})
	_, err := sb.Run(t.Context(), "true")
	if !errors.Is(err, sandbox.ErrNotReady) || !errors.Is(err, sandbox.ErrPortForwardDied) {
		t.Errorf("got %v, want %v and %v", err, sandbox.ErrNotReady, sandbox.ErrPortForwardDied)
	}
	if err := sb.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Run(t.Context(), "true"); err != nil {
		t.Error(err)
	}
}

func podRef(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Name: name}
}

func TestExistingClaimsNeedNoPool(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	client := newClient(t, c, g, func(o *sandbox.Options) { o.WarmPoolName = "" })
	sb, err := client.GetSandbox(t.Context(), "mine", "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Forget(sb)
	if _, err := client.CreateSandbox(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), "WarmPoolName") {
		t.Errorf("got %v, want an error that names WarmPoolName", err)
	}
	all, err := client.ListAllSandboxes(t.Context(), "")
	if diff := cmp.Diff([]sandbox.Key{{Namespace: team, ClaimName: "mine"}}, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := client.GetSandbox(t.Context(), "none", ""); !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrSandboxDeleted)
	}
}

// Whatever the stage at which the caller gives up, nothing stays behind.
func TestACancelledCallLeavesNothingBehind(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *cluster, *guest, context.CancelFunc) *sandbox.Client{
		"while the claim is made": func(t *testing.T, c *cluster, g *guest, cancel context.CancelFunc) *sandbox.Client {
			c.Refuse = func(r *http.Request) *apierrors.StatusError {
				if r.Method == http.MethodPost {
					cancel()
				}
				return nil
			}
			return newClient(t, c, g)
		},
		"while the claim waits": func(t *testing.T, c *cluster, g *guest, cancel context.CancelFunc) *sandbox.Client {
			c.idle = true
			c.Refuse = func(r *http.Request) *apierrors.StatusError {
				if r.URL.Query().Get("watch") != "" {
					cancel()
				}
				return nil
			}
			return newClient(t, c, g)
		},
		"while the port-forward is opened": func(t *testing.T, c *cluster, g *guest, cancel context.CancelFunc) *sandbox.Client {
			client, _ := forwarding(t, c, g)
			hanging := &tunneltest.Server{Hang: cancel}
			hanging.Start(t)
			c.Forward = hanging
			return client
		},
	} {
		t.Run(name, func(t *testing.T) {
			leaktest.Check(t)
			c, g := newCluster(t), newGuest(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			client := prepare(t, c, g, cancel)
			if _, err := client.CreateSandbox(ctx, "", ""); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
			if left := claimsLeft(c); left != "" {
				t.Error(left)
			}
			if active := client.ListActiveSandboxes(); len(active) > 0 {
				t.Errorf("the client keeps %v", active)
			}
		})
	}
}

func TestACancelledCallLeavesAnothersClaimAlone(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	ctx, cancel := context.WithCancel(t.Context())
	hanging := &tunneltest.Server{Hang: cancel}
	client, _ := forwarding(t, c, g)
	hanging.Start(t)
	c.Forward = hanging
	if _, err := client.CreateSandbox(ctx, "", "", sandbox.WithClaimName("mine")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if claimsLeft(c) == "" {
		t.Error("the claim is gone, which another program made")
	}
}

func TestAClaimThatFailsSaysWhy(t *testing.T) {
	for _, reason := range []string{
		"InvalidMetadata", "EnvVarsInjectionRejected", "VolumeClaimTemplatesError", "ClaimExpired", "SandboxExpired", "InvalidConfiguration",
	} {
		t.Run("a claim with the reason "+reason+" is given up at once", func(t *testing.T) {
			c, g := newCluster(t), newGuest(t)
			c.answer = isNotReady(reason, "because of that")
			_, err := newClient(t, c, g).CreateSandbox(t.Context(), "", "")
			if !errors.Is(err, sandbox.ErrClaimFailed) || !strings.Contains(err.Error(), reason+": because of that") {
				t.Errorf("got %v, want %v with reason and message", err, sandbox.ErrClaimFailed)
			}
			if left := claimsLeft(c); left != "" {
				t.Error(left)
			}
		})
	}
	t.Run("a claim that the API server refuses fails", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		c.Refuse = func(*http.Request) *apierrors.StatusError {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "sandboxclaims"}, "", errors.New("not yours"))
		}
		if _, err := newClient(t, c, g).CreateSandbox(t.Context(), "", ""); !errors.Is(err, sandbox.ErrClaimFailed) || !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want %v and what the API server said", err, sandbox.ErrClaimFailed)
		}
	})
	t.Run("a claim that does not get ready in time says what was seen last", func(t *testing.T) {
		c, g := newCluster(t), newGuest(t)
		c.answer = isNotReady("WarmPoolNotFound", `SandboxWarmPool "pool" not found`)
		client := newClient(t, c, g, func(o *sandbox.Options) { o.SandboxReadyTimeout = 2 * time.Second })
		_, err := client.CreateSandbox(t.Context(), "", "")
		if !errors.Is(err, sandbox.ErrTimeout) || !strings.Contains(err.Error(), "WarmPoolNotFound") {
			t.Errorf("got %v, want %v with the last reason", err, sandbox.ErrTimeout)
		}
		if left := claimsLeft(c); left != "" {
			t.Error(left)
		}
	})
}

func TestAClaimThatCannotBeDeletedIsAnOrphan(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	client := newClient(t, c, g)
	sb := mustCreate(t, client)
	refuse := true
	c.Refuse = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodDelete && refuse {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "sandboxclaims"}, sb.ClaimName(), errors.New("not now"))
		}
		return nil
	}
	if err := sb.Close(t.Context()); !errors.Is(err, sandbox.ErrOrphanedClaim) || !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want %v and what the API server said", err, sandbox.ErrOrphanedClaim)
	}
	if err := sb.Open(t.Context()); !errors.Is(err, sandbox.ErrOrphanedClaim) {
		t.Errorf("got %v, want %v", err, sandbox.ErrOrphanedClaim)
	}
	if active := client.ListActiveSandboxes(); len(active) != 1 {
		t.Errorf("the client keeps %v, want the orphan", active)
	}
	refuse = false
	if err := client.DeleteAll(t.Context()); err != nil {
		t.Error(err)
	}
	if left := claimsLeft(c); left != "" {
		t.Error(left)
	}
}

func TestASandboxThatWasDeletedIsToldAndReplaced(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g))
	before := sb.ClaimName()
	if err := sb.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Remove(team, "sandboxclaims", before)
	if err := sb.Open(t.Context()); !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrSandboxDeleted)
	}
	if err := sb.Open(t.Context()); err != nil || sb.ClaimName() == before {
		t.Errorf("claim %q after %q, %v", sb.ClaimName(), before, err)
	}
}

func TestCloseLeavesASuccessorOfTheNameAlone(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	c.Remove(team, "sandboxclaims", "mine")
	mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	for range 2 {
		if err := sb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if claimsLeft(c) == "" {
		t.Error("the claim of another is gone")
	}
}

func TestASignalDeletesWhatIsLeft(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	client := newClient(t, c, g)
	mustCreate(t, client)
	ended := make(chan os.Signal, 1)
	stop := client.CleanUpOn(func(received os.Signal) { ended <- received })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if received := <-ended; received != syscall.SIGTERM {
		t.Errorf("ended by %v", received)
	}
	stop()
	stop()
	if left := claimsLeft(c); left != "" {
		t.Error(left)
	}
	client.EnableAutoCleanup()() // nothing happens
}

func TestTheGatewayIsFoundAndGone(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	gatewayAt := func(addresses ...any) map[string]any {
		return map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": map[string]any{"namespace": team, "name": "edge"},
			"spec":   map[string]any{"listeners": []any{map[string]any{"protocol": "HTTP", "port": int64(8000)}}},
			"status": map[string]any{"addresses": addresses},
		}
	}
	c.SetContent("gateways", gatewayAt(map[string]any{"type": "IPAddress", "value": "2001:db8::7"}))
	var dialled string
	through := g.Client().Transport.(*http.Transport).Clone()
	through.DialContext = func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		dialled = address
		return (&net.Dialer{}).DialContext(ctx, network, g.Listener.Addr().String())
	}
	client := newClient(t, c, g, func(o *sandbox.Options) { o.APIURL, o.GatewayName, o.HTTPTransport = "", "edge", through })
	sb := mustCreate(t, client)
	if _, err := sb.Run(t.Context(), "true"); err != nil || dialled != "[2001:db8::7]:8000" {
		t.Errorf("dialled %s, %v", dialled, err)
	}
	c.SetContent("gateways", gatewayAt())
	failed := make(chan error, 1)
	go func() {
		_, err := client.CreateSandbox(t.Context(), "", "")
		failed <- err
	}()
	eventually(t, func() string {
		if c.Asked("watch gateways") == 0 || c.Watches() == 0 {
			return "the Gateway is not watched"
		}
		return ""
	})
	c.Remove(team, "gateways", "edge")
	if err := <-failed; !errors.Is(err, sandbox.ErrGatewayDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrGatewayDeleted)
	}
}
