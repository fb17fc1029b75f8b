package resolve_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/core/internal/router/resolve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

const uid = "uid-of-box"

type edit func(*corev1.Pod)

// pod is a ready Pod of Sandbox box.
func pod(edits ...edit) *corev1.Pod {
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "box", UID: "pod-1", Labels: map[string]string{sandboxv1beta1.LabelSandboxNameHash: "f00"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: sandboxv1beta1.GroupVersion.String(), Kind: sandboxv1beta1.SandboxKind, Name: "box", UID: uid, Controller: ptr.To(true),
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.7"}, {IP: "fd00::7"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, apply := range edits {
		apply(made)
	}
	return made
}

func withUID(of types.UID) edit { return func(p *corev1.Pod) { p.UID = of } }

func at(ip string) edit { return func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: ip}} } }

func of(name string, owner types.UID) edit {
	return func(p *corev1.Pod) { p.Name, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = name, name, owner }
}

func pooled(p *corev1.Pod) { p.Labels[sandboxv1beta1.LabelWarmPool] = "pool" }

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func ending(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0))) }

// sandbox is box as the API server has it; owner is the kind of the extensions that controls it, empty for none.
func sandbox(owner string, edits ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	made := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "box", UID: uid}}
	if owner != "" {
		made.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: sandboxv1beta1.ExtensionsGroupName + "/v1beta1", Kind: owner, Name: "owner", UID: "uid-of-owner", Controller: ptr.To(true),
		}}
	}
	for _, apply := range edits {
		apply(made)
	}
	return made
}

func ready(ips ...string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Status.PodIPs = ips
		s.Status.Conditions = []metav1.Condition{{Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue}}
	}
}

func withService(s *sandboxv1beta1.Sandbox) { s.Status.Service = s.Name }

// world is a resolver with what it knows and what the API server would tell.
type world struct {
	index   *resolve.Index
	clock   *clocktesting.FakeClock
	server  client.WithWatch
	lookups int
	broken  error
	*resolve.Watching
}

func newWorld(t *testing.T, sandboxes []client.Object, pods ...*corev1.Pod) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := sandboxv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	w.server = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(sandboxes...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			w.lookups++
			if w.broken != nil {
				return w.broken
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	w.index = resolve.NewIndex(w.clock)
	for _, p := range pods {
		w.index.OnAdd(p, true)
	}
	w.Watching = resolve.NewWatching(w.index, w.server, "example.org")
	return w
}

func want() target.Target {
	return target.Target{Sandbox: types.NamespacedName{Namespace: "default", Name: "box"}, Port: 8888}
}

// place is what of an endpoint can be compared.
type place struct {
	Name, Host string
	Pod        types.UID
}

func resolved(t *testing.T, w *world, wanted target.Target) (place, resolve.Reason) {
	t.Helper()
	got, err := w.Resolve(t.Context(), wanted)
	if err != nil {
		failure, ok := errors.AsType[*resolve.Failure](err)
		if !ok {
			t.Fatalf("not a failure but %v", err)
		}
		return place{}, failure.Reason
	}
	return place{got.Sandbox.Name, got.Host, got.Pod}, ""
}

// A9.6: a sandbox is found by its Pod, which needs no Service; A9.7: by the name of the Sandbox, whatever its Pod or its claim is called.
// A6.4: nothing but Pods of sandboxes is, and none that waits in a pool.
func TestResolve(t *testing.T) {
	byIP := func(ip string) target.Target { w := want(); w.PodIP = netip.MustParseAddr(ip); return w }
	byUID := func(id types.UID) target.Target { w := want(); w.UID = id; return w }
	own := place{"box", "10.0.0.7", "pod-1"}
	one := func(s *sandboxv1beta1.Sandbox) []client.Object { return []client.Object{s} }
	for name, test := range map[string]struct {
		pods      []*corev1.Pod
		sandboxes []client.Object
		wanted    target.Target
		want      place
		reason    resolve.Reason
		lookups   int
	}{
		"by the name of the Sandbox, whatever that of its Pod": {
			pods: []*corev1.Pod{pod(func(p *corev1.Pod) { p.Name = "pool-x7f" })}, wanted: want(), want: own,
		},
		"by an address, the other of its Pod too": {pods: []*corev1.Pod{pod()}, wanted: byIP("fd00::7"), want: place{"box", "fd00::7", "pod-1"}},
		"an address that is another sandbox's by now is not used": {
			pods: []*corev1.Pod{pod(), pod(of("other", "uid-2"), withUID("pod-2"), at("10.0.0.8"))}, wanted: byIP("10.0.0.8"), want: own,
		},
		"an address that is another sandbox's by now, and no such Sandbox": {
			pods: []*corev1.Pod{pod(of("other", "uid-2"))}, wanted: byIP("10.0.0.7"), reason: resolve.Unknown, lookups: 1,
		},
		"an address of nobody is not believed":          {pods: []*corev1.Pod{pod()}, wanted: byIP("10.96.0.1"), want: own},
		"an address of nobody, and no such Sandbox":     {wanted: byIP("10.96.0.1"), reason: resolve.Unknown, lookups: 1},
		"by a UID before the name":                      {pods: []*corev1.Pod{pod(), pod(of("other", "uid-2"), withUID("pod-2"), at("10.0.0.8"))}, wanted: byUID("uid-2"), want: place{"other", "10.0.0.8", "pod-2"}},
		"a UID of nobody leads on to the name":          {pods: []*corev1.Pod{pod()}, wanted: byUID("uid-9"), want: own},
		"not to a Pod that is not ready":                {pods: []*corev1.Pod{pod(notReady)}, wanted: want(), reason: resolve.NotReady},
		"not to a Pod without an address":               {pods: []*corev1.Pod{pod(func(p *corev1.Pod) { p.Status.PodIPs = nil })}, wanted: want(), reason: resolve.NotReady},
		"not to a Pod that is about to end":             {pods: []*corev1.Pod{pod(ending)}, wanted: want(), reason: resolve.NotReady},
		"to the Pod that takes the place of an old one": {pods: []*corev1.Pod{pod(ending), pod(withUID("pod-2"), at("10.0.0.9"))}, wanted: want(), want: place{"box", "10.0.0.9", "pod-2"}},
		"to neither of two that claim to be it":         {pods: []*corev1.Pod{pod(), pod(withUID("pod-2"), at("10.0.0.9"))}, wanted: want(), reason: resolve.Several},
		"not to a Pod that only carries the label": {
			pods: []*corev1.Pod{pod(func(p *corev1.Pod) { p.OwnerReferences = nil })}, wanted: byIP("10.0.0.7"), reason: resolve.Unknown, lookups: 1,
		},
		"not to a Pod that something else controls": {
			pods: []*corev1.Pod{pod(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "apps/v1" })}, wanted: want(), reason: resolve.Unknown, lookups: 1,
		},
		"not to a member of a pool": {
			pods: []*corev1.Pod{pod(pooled)}, sandboxes: one(sandbox(sandboxv1beta1.WarmPoolKind)), wanted: want(), reason: resolve.Unclaimed, lookups: 1,
		},
		"not to a member of a pool by its address": {
			pods: []*corev1.Pod{pod(pooled)}, sandboxes: one(sandbox(sandboxv1beta1.WarmPoolKind)), wanted: byIP("10.0.0.7"), reason: resolve.Unclaimed, lookups: 2,
		},
		"to one whose claim its Pod does not show yet": {
			pods: []*corev1.Pod{pod(pooled)}, sandboxes: one(sandbox(sandboxv1beta1.ClaimKind)), wanted: want(), want: own, lookups: 1,
		},
		"not to one whose Sandbox is another by now": {
			pods: []*corev1.Pod{pod(pooled)}, wanted: want(), reason: resolve.Unclaimed, lookups: 1,
			sandboxes: one(sandbox(sandboxv1beta1.ClaimKind, func(s *sandboxv1beta1.Sandbox) { s.UID = "uid-3" })),
		},
		"to a Sandbox whose Pod is not watched":                   {sandboxes: one(sandbox("", ready("10.0.0.5"))), wanted: want(), want: place{"box", "10.0.0.5", ""}, lookups: 1},
		"to its own address among those that the request names":   {sandboxes: one(sandbox("", ready("10.0.0.5", "fd00::5"))), wanted: byIP("fd00::5"), want: place{"box", "fd00::5", ""}, lookups: 1},
		"to its Service while its Pod is nowhere":                 {sandboxes: one(sandbox("", withService)), wanted: want(), want: place{"box", "box.default.svc.example.org", ""}, lookups: 1},
		"not to a Service of that name that is not the Sandbox's": {sandboxes: one(sandbox("")), wanted: want(), reason: resolve.NotReady, lookups: 1},
		"not to a member of a pool by the API server": {
			sandboxes: one(sandbox(sandboxv1beta1.WarmPoolKind, ready("10.0.0.5"), withService)), wanted: want(), reason: resolve.Unclaimed, lookups: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.sandboxes, test.pods...)
			got, reason := resolved(t, w, test.wanted)
			if difference := cmp.Diff(test.want, got); difference != "" || reason != test.reason {
				t.Errorf("failure %q, want %q; place (-want +got):\n%s", reason, test.reason, difference)
			}
			if w.lookups != test.lookups {
				t.Errorf("asked the API server %d times, want %d", w.lookups, test.lookups)
			}
		})
	}
}

func TestThatASandboxWasClaimedIsRemembered(t *testing.T) {
	w := newWorld(t, []client.Object{sandbox(sandboxv1beta1.ClaimKind)}, pod(pooled))
	for range 3 {
		if got, reason := resolved(t, w, want()); got.Pod != "pod-1" {
			t.Fatalf("not found: %s", reason)
		}
	}
	// The next version of the Pod is the same Pod.
	w.index.OnUpdate(pod(pooled), pod(pooled, at("10.0.0.7")))
	if got, reason := resolved(t, w, want()); got.Pod != "pod-1" {
		t.Fatalf("not found: %s", reason)
	}
	if w.lookups != 1 {
		t.Errorf("asked the API server %d times, want once", w.lookups)
	}
}

func TestAClaimCountsAtOnce(t *testing.T) {
	w := newWorld(t, []client.Object{sandbox(sandboxv1beta1.WarmPoolKind)}, pod(pooled))
	if _, reason := resolved(t, w, want()); reason != resolve.Unclaimed {
		t.Fatalf("the member of a pool: %q", reason)
	}
	var claimed sandboxv1beta1.Sandbox
	if err := w.server.Get(t.Context(), want().Sandbox, &claimed); err != nil {
		t.Fatal(err)
	}
	claimed.OwnerReferences[0].Kind = sandboxv1beta1.ClaimKind
	if err := w.server.Update(t.Context(), &claimed); err != nil {
		t.Fatal(err)
	}
	if got, reason := resolved(t, w, want()); got.Pod != "pod-1" {
		t.Errorf("claimed, and still %q", reason)
	}
}

func TestTheAPIServerIsAskedOncePerSecond(t *testing.T) {
	w := newWorld(t, []client.Object{sandbox("", ready("10.0.0.5"))})
	for range 5 {
		if got, reason := resolved(t, w, want()); got.Host != "10.0.0.5" {
			t.Fatalf("not found: %q", reason)
		}
	}
	w.clock.Step(time.Second + time.Millisecond)
	if got, reason := resolved(t, w, want()); got.Host != "10.0.0.5" {
		t.Fatalf("not found: %q", reason)
	}
	if w.lookups != 2 {
		t.Errorf("asked %d times, want 2", w.lookups)
	}
}

func TestALookupThatFailsIsNoAnswer(t *testing.T) {
	w := newWorld(t, nil)
	w.broken = errors.New("connection refused")
	_, err := w.Resolve(t.Context(), want())
	failure, ok := errors.AsType[*resolve.Failure](err)
	if !ok || failure.Reason != resolve.LookupFailed || !errors.Is(err, w.broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Resolve(ctx, want()); !errors.Is(err, context.Canceled) {
		t.Errorf("the client is gone, and the error is %v", err)
	}
}

// A Pod whose host is unreachable is passed over for a while; one that merely refuses never comes here. Late news of it change nothing.
func TestAnUnreachablePodIsPassedOver(t *testing.T) {
	w := newWorld(t, []client.Object{sandbox("")}, pod())
	endpoint, err := w.Resolve(t.Context(), want())
	if err != nil {
		t.Fatal(err)
	}
	if !w.Evict(endpoint) {
		t.Error("the first eviction is no news")
	}
	if w.Evict(endpoint) {
		t.Error("the second is")
	}
	w.index.OnUpdate(pod(), pod())
	if _, reason := resolved(t, w, want()); reason != resolve.NotReady {
		t.Errorf("still found: %q", reason)
	}
	w.clock.Step(6 * time.Second)
	if got, reason := resolved(t, w, want()); got.Pod != "pod-1" {
		t.Errorf("not tried again: %q", reason)
	}
	// What comes in its place is somebody else.
	w.Evict(endpoint)
	w.index.OnUpdate(pod(), pod(withUID("pod-2"), at("10.0.0.9")))
	if got, reason := resolved(t, w, want()); got.Pod != "pod-2" {
		t.Errorf("the Pod in its place is not found: %q", reason)
	}
	if w.Evict(endpoint) {
		t.Error("an eviction of a Pod that is gone is news")
	}
	if got, reason := resolved(t, w, want()); got.Pod != "pod-2" {
		t.Errorf("it hit the Pod in its place: %q", reason)
	}
}

func TestLateNewsOfAPodTouchNoOther(t *testing.T) {
	w := newWorld(t, nil, pod())
	w.index.OnAdd(pod(withUID("pod-2"), at("10.0.0.9")), false)
	w.index.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "default/box", Obj: pod()})
	w.index.OnDelete(pod())
	if got, reason := resolved(t, w, want()); got.Pod != "pod-2" {
		t.Errorf("not found: %q", reason)
	}
}

func TestWhatGoesToAPodEndsWithIt(t *testing.T) {
	w := newWorld(t, nil, pod())
	endpoint, err := w.Resolve(t.Context(), want())
	if err != nil {
		t.Fatal(err)
	}
	w.index.OnUpdate(pod(), pod(ending))
	w.clock.Step(time.Hour)
	if endpoint.Life.Err() != nil {
		t.Fatal("it ended while the Pod did still end")
	}
	w.index.OnDelete(pod())
	if endpoint.Life.Err() != nil {
		t.Error("what the Pod had still said is not waited for")
	}
	w.clock.Step(3 * time.Second)
	<-endpoint.Life.Done()
}

func TestNothingIsKeptOfPodsThatAreGone(t *testing.T) {
	w := newWorld(t, nil, pod(), pod(of("other", "uid-2"), withUID("pod-2"), at("10.0.0.8")))
	w.index.OnDelete(pod())
	w.index.OnDelete(pod(withUID("pod-2")))
	if sizes := w.index.Sizes(); sizes != [4]int{} {
		t.Errorf("it still holds %v", sizes)
	}
}

func TestDirectBelievesTheRequest(t *testing.T) {
	direct := resolve.NewDirect("example.org")
	got, err := direct.Resolve(t.Context(), want())
	if err != nil || got.Host != "box.default.svc.example.org" {
		t.Errorf("%v, by name %q", err, got.Host)
	}
	wanted := want()
	wanted.PodIP = netip.MustParseAddr("fd00::7")
	if got, err = direct.Resolve(t.Context(), wanted); err != nil || got.Host != "fd00::7" {
		t.Errorf("%v, by address %q", err, got.Host)
	}
	if direct.Evict(got) {
		t.Error("something was evicted")
	}
}

func TestOfAPodIsKeptWhatIsRead(t *testing.T) {
	options, err := resolve.CacheOptions("team-a")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := options.DefaultNamespaces["team-a"]; !ok || len(options.DefaultNamespaces) != 1 {
		t.Errorf("namespaces %v", options.DefaultNamespaces)
	}
	for obj, by := range options.ByObject {
		if _, ok := obj.(*corev1.Pod); !ok {
			t.Fatalf("a %T is watched", obj)
		}
		full := pod(pooled)
		full.Spec.Containers = []corev1.Container{{Name: "main"}}
		full.Labels["app"] = "x"
		kept, err := by.Transform(full)
		if err != nil {
			t.Fatal(err)
		}
		lean := pod(pooled)
		lean.Labels = map[string]string{sandboxv1beta1.LabelWarmPool: "pool"}
		if difference := cmp.Diff(lean, kept, cmpopts.EquateEmpty()); difference != "" {
			t.Errorf("kept (-want +got):\n%s", difference)
		}
	}
}
