package sandbox_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/leaktest"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// obey does once what the controller does when the mode of a Sandbox is set.
func (c *cluster) obey(t *testing.T, name string, mode sandboxv1beta1.OperatingMode, podIP string) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var sb sandboxv1beta1.Sandbox
		eventually(t, func() string {
			if !c.Read(team, "sandboxes", name, &sb) || sb.Spec.OperatingMode != mode {
				return "the mode is not set"
			}
			return ""
		})
		suspended := metav1.Condition{Type: "Suspended", Status: metav1.ConditionTrue, Reason: "PodTerminated", ObservedGeneration: sb.Generation}
		ready := isReady(sb.Generation)
		sb.Status.PodIPs = []string{podIP}
		if mode == sandboxv1beta1.OperatingModeSuspended {
			ready.Status, ready.Reason = metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxSuspended
			sb.Status.PodIPs = nil
		} else {
			suspended.Status, suspended.Reason = metav1.ConditionFalse, "NotSuspended"
		}
		sb.Status.Conditions = []metav1.Condition{ready, suspended}
		c.Set(t, "sandboxes", &sb)
	}()
	return done
}

func TestASandboxIsSuspendedAndResumed(t *testing.T) {
	leaktest.Check(t)
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	done := c.obey(t, member("mine"), sandboxv1beta1.OperatingModeSuspended, "")
	if err := sb.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if _, err := sb.Run(t.Context(), "true"); !errors.Is(err, sandbox.ErrNotReady) {
		t.Errorf("got %v, want %v", err, sandbox.ErrNotReady)
	}
	done = c.obey(t, member("mine"), sandboxv1beta1.OperatingModeRunning, "10.9.9.9")
	if err := sb.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if _, err := sb.Run(t.Context(), "true"); err != nil || sb.PodIP() != "10.9.9.9" {
		t.Errorf("address %s, %v", sb.PodIP(), err)
	}
	if got := g.requests()[0].Header.Get("X-Sandbox-Pod-IP"); got != "10.9.9.9" {
		t.Errorf("routed to %s", got)
	}
}

func TestASuspendedSandboxIsFoundAndResumed(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	var claim extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", "mine", &claim)
	claim.Status.Conditions = []metav1.Condition{*isNotReady(sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended")}
	c.Set(t, "sandboxclaims", &claim)
	client := newClient(t, c, g)
	sb, err := client.GetSandbox(t.Context(), "mine", "")
	if err != nil || sb.IsReady() {
		t.Fatalf("ready: %v, %v", sb.IsReady(), err)
	}
	done := c.obey(t, member("mine"), sandboxv1beta1.OperatingModeRunning, podIP)
	if err := sb.Resume(t.Context()); err != nil || !sb.IsReady() {
		t.Errorf("ready: %v, %v", sb.IsReady(), err)
	}
	<-done
	client.Forget(sb)
}

func TestASandboxThatWasReplacedIsNotTouched(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	sb := mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	var other sandboxv1beta1.Sandbox
	c.Read(team, "sandboxes", member("mine"), &other)
	other.UID = "another"
	c.Set(t, "sandboxes", &other)
	if err := sb.Suspend(t.Context()); !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrSandboxDeleted)
	}
	c.Read(team, "sandboxes", member("mine"), &other)
	if other.Spec.OperatingMode == sandboxv1beta1.OperatingModeSuspended {
		t.Error("another's Sandbox was suspended")
	}
}

func TestASuspensionThatTakesTooLongSaysSo(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	mustCreate(t, newClient(t, c, g), sandbox.WithClaimName("mine"))
	client := newClient(t, c, g, func(o *sandbox.Options) { o.SandboxReadyTimeout = 50 * time.Millisecond })
	// It is ready, so that nothing is waited for before.
	sb, err := client.GetSandbox(t.Context(), "mine", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := sb.Suspend(t.Context()); !errors.Is(err, sandbox.ErrTimeout) || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("got %v, want %v that says what was waited for", err, sandbox.ErrTimeout)
	}
}

func TestAClaimIsRenewed(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	client := newClient(t, c, g)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	client.SetClock(clocktesting.NewFakePassiveClock(now))
	sb := mustCreate(t, client, sandbox.WithClaimName("mine"))
	if err := sb.Renew(t.Context(), 90*time.Minute); err != nil {
		t.Fatal(err)
	}
	var claim extensionsv1beta1.SandboxClaim
	c.Read(team, "sandboxclaims", "mine", &claim)
	if until := claim.Spec.Lifecycle.ShutdownTime; !until.Time.Equal(now.Add(90 * time.Minute)) {
		t.Errorf("it expires %s", until)
	}
	if err := sb.Renew(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "lifetime 0s") {
		t.Errorf("got %v, want an error that names the lifetime", err)
	}
	c.Remove(team, "sandboxclaims", "mine")
	if err := sb.Renew(t.Context(), time.Hour); !errors.Is(err, sandbox.ErrSandboxDeleted) {
		t.Errorf("got %v, want %v", err, sandbox.ErrSandboxDeleted)
	}
}

// Somebody else deletes the claim: what the router answers then is no way out, and Open is one.
func TestACallFindsOutThatTheClaimIsGone(t *testing.T) {
	c, g := newCluster(t), newGuest(t)
	client := newClient(t, c, g)
	sb := mustCreate(t, client, sandbox.WithClaimName("mine"))
	g.do(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	if _, err := sb.Run(t.Context(), "true"); err == nil || errors.Is(err, sandbox.ErrSandboxDeleted) || !sb.IsReady() {
		t.Errorf("while the claim is there: %v, ready: %t", err, sb.IsReady())
	}
	if err := newClient(t, c, g).DeleteSandbox(t.Context(), "mine", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Run(t.Context(), "true"); !errors.Is(err, sandbox.ErrSandboxDeleted) || sb.IsReady() {
		t.Errorf("once it is gone: %v, ready: %t", err, sb.IsReady())
	}
	g.do(nil)
	if err := sb.Open(t.Context()); err != nil || !sb.IsReady() {
		t.Errorf("opened again: %v", err)
	}
}

func TestANameThatIsNoHostIsRefused(t *testing.T) {
	_, err := newClient(t, newCluster(t), newGuest(t)).CreateSandbox(t.Context(), "", "", sandbox.WithClaimName("a.b"))
	if err == nil || !strings.Contains(err.Error(), `claim name "a.b"`) {
		t.Errorf("got %v", err)
	}
}

func TestADeadlineOfTheCallersSaysWhatWasSeenLast(t *testing.T) {
	c := newCluster(t)
	c.answer = isNotReady("WarmPoolNotFound", "there is none")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := newClient(t, c, newGuest(t)).CreateSandbox(ctx, "", "", sandbox.WithClaimName("mine"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "/mine: ") || !strings.Contains(err.Error(), "last seen: ") {
		t.Errorf("got %v", err)
	}
}
