//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const (
	// crowdSize is how many claims of one namespace wait at a time.
	crowdSize = 10_000
	// stillWaiting is how many of them must wait yet when all is measured, or nobody was in anybody's way.
	stillWaiting = 1_000
	// mostDelay is how much longer the first claim of another namespace may take because of them.
	mostDelay = time.Second
	// makers is how many clients make them.
	makers = 32
	// guests is how many other namespaces have their first claims, one after the other, before the crowd and beside it.
	guests = 12
)

// stage is an API server with both controllers as they are shipped: a race detector would take most of the second. It has no
// other components, and instant kubelets, since it is not they that are tested.
type stage struct {
	user client.WithWatch
}

// visit is what the first claims of other namespaces take, of each kind.
type visit struct {
	// took is how long from the beginning of the call that makes a claim until a watch tells that it is served, called of that how
	// long the call takes.
	took, called []time.Duration
}

// kind is a kind of claim.
type kind struct {
	pool    string
	members int32
	// writes is how many requests follow one on another until a claim is served, the one that makes it included.
	writes int
}

// A member of the pool is there, or Sandbox, Pod and their statuses come first.
func kindsOfClaims() []kind { return []kind{{"warm", 1, 3}, {"cold", 0, 8}} }

// No namespace with ten thousand claims that wait delays the first claim of another by more than a second. What the API server takes
// for each request on a machine as busy as this one is not a matter of turns, and is told by the calls that make the claims; of what
// else a busy machine does to one claim in four, only the log tells.
func TestACrowdDelaysNobodyElse(t *testing.T) {
	s := newStageOfTurns(t)
	first, second := s.invite(t), s.invite(t)
	before := s.receive(t, first)
	crowd := s.gather(t)
	beside := s.receive(t, second)

	waiting := s.countWaiting(t, crowd)
	if waiting < stillWaiting {
		t.Errorf("only %d claims of the crowd wait yet, want %d", waiting, stillWaiting)
	}
	for _, k := range kindsOfClaims() {
		alone, late := before[k.pool], beside[k.pool]
		t.Logf("%s claims alone: median %s, slowest %s, calls %s; beside %d to %d that wait: first %s, median %s, slowest %s, calls %s, slowest %s",
			k.pool, median(alone.took), slices.Max(alone.took), median(alone.called), crowdSize, waiting,
			late.took[0], median(late.took), slices.Max(late.took), median(late.called), slices.Max(late.called))
		requests := time.Duration(k.writes) * slices.Max(late.called)
		if delay := share(late.took, 0.75) - median(alone.took); delay > mostDelay+requests {
			t.Errorf("the crowd delays a %s claim by %s, want %s at most, and %s for %d requests", k.pool, delay, mostDelay, requests, k.writes)
		}
	}
}

// invite makes namespaces with a pool for each kind of claim, and returns their names once the members are ready.
func (s stage) invite(t *testing.T) []string {
	t.Helper()
	var namespaces []string
	for range guests {
		namespace := testkit.Namespace(t, s.user)
		template := fixture.Template(namespace, "template")
		fixture.Create(t, s.user, template)
		for _, k := range kindsOfClaims() {
			fixture.Create(t, s.user, fixture.Pool(template, k.pool, k.members))
		}
		namespaces = append(namespaces, namespace)
	}
	for _, namespace := range namespaces {
		for _, k := range kindsOfClaims() {
			fixture.Must(t, s.user, &extensionsv1beta1.SandboxWarmPool{ObjectMeta: fixture.Named(namespace, k.pool)}, await.Members(k.members))
		}
	}
	return namespaces
}

// receive makes the first claim of each kind in namespaces, one after the other.
func (s stage) receive(t *testing.T, namespaces []string) map[string]*visit {
	t.Helper()
	visits := map[string]*visit{}
	for _, namespace := range namespaces {
		for _, k := range kindsOfClaims() {
			if visits[k.pool] == nil {
				visits[k.pool] = &visit{}
			}
			claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, k.pool+"-claim")}
			claim.Spec.WarmPoolRef.Name = k.pool
			s.serve(t, claim, visits[k.pool])
		}
	}
	return visits
}

func newStageOfTurns(t *testing.T) stage {
	t.Helper()
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.NewAPIServer(t)
	manifest, err := os.ReadFile(filepath.Join(root, "release", "testdata", "sandbox-with-extensions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), server.Config, manifest); err != nil {
		t.Fatal(err)
	}
	testkit.StartKubelet(t, server.Config)
	for _, name := range []string{install.CoreController, install.ExtensionsController} {
		binary, err := install.BuildProgram(t.Context(), install.Build{Root: root, Program: name})
		if err != nil {
			t.Fatal(err)
		}
		options := install.ControllerOptions{Binary: binary, ServiceAccount: name, Log: io.Discard}
		// Until the cleanup, before which t.Context ends.
		shipped, err := install.StartController(context.WithoutCancel(t.Context()), server.Config, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := shipped.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	client, err := await.NewClient(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	return stage{user: client}
}

// gather makes the claims of a namespace wait for a pool, which then comes: all of them start cold at the same moment. Their Pods do
// not run, since a kubelet as busy as that is not what is tested.
func (s stage) gather(t *testing.T) string {
	t.Helper()
	namespace := testkit.Namespace(t, s.user)
	template := fixture.Template(namespace, "template")
	template.Spec.PodTemplate.Metadata.Annotations = map[string]string{testkit.HoldAnnotation: ""}
	pool := fixture.Pool(template, "pool", 0)
	fixture.Create(t, s.user, template)
	began := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(makers)
	for n := range crowdSize {
		group.Go(func() error { return s.user.Create(ctx, fixture.Claim(pool, fmt.Sprintf("claim-%d", n))) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyWithin(t, fixture.Patience, "that the crowd waits for its pool", func() error { return s.allWait(t.Context(), namespace) })
	t.Logf("%d claims wait for a pool after %s", crowdSize, time.Since(began))
	fixture.Create(t, s.user, pool)
	testkit.EventuallyWithin(t, fixture.Patience, "the first Sandbox of the crowd", func() error {
		var sandboxes sandboxv1beta1.SandboxList
		if err := s.user.List(t.Context(), &sandboxes, client.InNamespace(namespace), client.Limit(1)); err != nil || len(sandboxes.Items) == 1 {
			return err
		}
		return errors.New("there is none")
	})
	return namespace
}

// allWait returns nil once a controller has answered every claim of a namespace.
func (s stage) allWait(ctx context.Context, namespace string) error {
	var claims extensionsv1beta1.SandboxClaimList
	if err := s.user.List(ctx, &claims, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		if len(claims.Items[i].Status.Conditions) == 0 {
			return fmt.Errorf("claim %s was not answered", claims.Items[i].Name)
		}
	}
	return nil
}

func (s stage) countWaiting(t *testing.T, namespace string) int {
	t.Helper()
	var claims extensionsv1beta1.SandboxClaimList
	if err := s.user.List(t.Context(), &claims, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	waiting := 0
	for i := range claims.Items {
		if claims.Items[i].Status.Sandbox.Name == "" {
			waiting++
		}
	}
	return waiting
}

// serve makes a claim, waits until a watch tells that it is served, and notes how long that took.
func (s stage) serve(t *testing.T, claim *extensionsv1beta1.SandboxClaim, into *visit) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), fixture.Patience, fmt.Errorf("not served within %s", fixture.Patience))
	defer cancel()
	events, err := s.user.Watch(ctx, &extensionsv1beta1.SandboxClaimList{}, client.InNamespace(claim.Namespace), client.MatchingFields{"metadata.name": claim.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	began := time.Now()
	fixture.Create(t, s.user, claim)
	into.called = append(into.called, time.Since(began))
	for {
		select {
		case event := <-events.ResultChan():
			if event.Type == watch.Error || event.Type == "" {
				t.Fatalf("the watch of claim %s ended: %v", claim.Name, event.Object)
			}
			seen, ok := event.Object.(*extensionsv1beta1.SandboxClaim)
			if ok && seen.Status.Sandbox.Name != "" && await.Served()(seen) == "" {
				into.took = append(into.took, time.Since(began))
				return
			}
		case <-ctx.Done():
			t.Fatalf("claim %s: %v", claim.Name, context.Cause(ctx))
		}
	}
}

func median(all []time.Duration) time.Duration { return share(all, 0.5) }

// share is what that share of all does not exceed.
func share(all []time.Duration, of float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(of*float64(len(sorted)-1))]
}
