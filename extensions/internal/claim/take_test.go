package claim

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace/noop"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// open is a barrier that is passed.
type open struct{}

func (open) Wait(context.Context) error { return nil }

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{sandboxv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newCluster is an API server in memory. Writes go through intercepts first.
func newCluster(t *testing.T, intercepts interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(objects...).WithInterceptorFuncs(intercepts).
		WithStatusSubresource(&sandboxv1beta1.Sandbox{}, &extensionsv1beta1.SandboxClaim{})
	for _, i := range index.All() {
		builder = builder.WithIndex(i.Of, i.Name, i.By)
	}
	return builder.Build()
}

func newReconciler(cluster client.Client, members Members) *Reconciler {
	return New(Config{
		Client: cluster, Live: cluster, Recorder: events.Discard(), Clock: clock.RealClock{}, Members: members, Barrier: open{},
		Tracer:     noop.NewTracerProvider().Tracer(""),
		LastWrites: consistency.NewLastWrites[types.NamespacedName, types.NamespacedName](),
		Echoes:     consistency.NewEchoes[types.NamespacedName](),
	})
}

func requestFor(claim *extensionsv1beta1.SandboxClaim) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(claim)}
}

// memberNamed is a member that can be taken.
func memberNamed(name string, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	return memberSandbox(append([]func(*sandboxv1beta1.Sandbox){func(s *sandboxv1beta1.Sandbox) {
		s.Name, s.UID, s.ResourceVersion = name, types.UID("uid-"+name), ""
		s.Status.PodIPs = []string{"10.0.0.1"}
	}, readyAs(metav1.Condition{Status: metav1.ConditionTrue, Reason: "DependenciesReady"})}, modify...)...)
}

func TestATakenMemberIsPassedOverInTheSamePass(t *testing.T) {
	sandboxes := schema.GroupResource{Resource: "sandboxes"}
	after := errors.New("no answer")
	cases := map[string]struct {
		// answer is what the first patch of member a meets, applied whether it takes effect all the same.
		answer  error
		applied bool
		first   *sandboxv1beta1.Sandbox
		want    string
		left    int
		failed  bool
	}{
		"the first that is asked for":                       {nil, true, memberNamed("a"), "a", 1, false},
		"the next when it is gone (A3.9)":                   {apierrors.NewNotFound(sandboxes, "a"), false, memberNamed("a"), "b", 0, false},
		"the next when it has changed (A3.2)":               {apierrors.NewConflict(sandboxes, "a", after), false, memberNamed("a"), "b", 0, false},
		"the first when the answer was lost (A3.11)":        {after, true, memberNamed("a"), "a", 1, false},
		"the next when the request was lost":                {after, false, memberNamed("a"), "b", 1, false},
		"none when it is not allowed":                       {apierrors.NewForbidden(sandboxes, "a", after), false, memberNamed("a"), "", 2, true},
		"none when the object is refused":                   {apierrors.NewInvalid(schema.GroupKind{}, "a", nil), false, memberNamed("a"), "", 2, true},
		"the next when the cache shows that it goes (A3.8)": {nil, true, memberNamed("a", leaving, func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"test/hold"} }), "b", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			patch := func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
				if obj.GetName() != "a" || tc.answer == nil {
					return c.Patch(ctx, obj, p, o...)
				}
				if tc.applied {
					if err := c.Patch(ctx, obj, p, o...); err != nil {
						return err
					}
				}
				return tc.answer
			}
			cluster := newCluster(t, interceptor.Funcs{Patch: patch}, tc.first, memberNamed("b"), claimWith())
			members := candidates.New()
			for _, box := range []*sandboxv1beta1.Sandbox{memberNamed("a"), memberNamed("b")} {
				box.ResourceVersion = "1"
				members.ObserveSandbox(box)
			}
			var d done
			newReconciler(cluster, members).take(context.Background(), seenWith(claimWith()), taking{pool: "uid-pool", namespace: "ns"}, &d)
			got := ""
			if d.sandbox != nil {
				got = d.sandbox.Name
			}
			if got != tc.want || members.Count("uid-pool") != tc.left || (len(d.errors) > 0) != tc.failed {
				t.Errorf("took %q, %d are left, errors %v", got, members.Count("uid-pool"), d.errors)
			}
		})
	}
}

// A3.3: a Sandbox of another namespace that names the pool as its owner is none of its members.
func TestAMemberOfAnotherNamespaceIsNotTaken(t *testing.T) {
	members := candidates.New()
	stranger := memberNamed("a", func(s *sandboxv1beta1.Sandbox) { s.Namespace = "other" })
	members.ObserveSandbox(stranger)
	var d done
	newReconciler(newCluster(t, interceptor.Funcs{}, stranger, claimWith()), members).
		take(context.Background(), seenWith(claimWith()), taking{pool: "uid-pool", namespace: "ns"}, &d)
	if d.sandbox != nil || len(d.errors) > 0 {
		t.Errorf("took %v, errors %v", d.sandbox, d.errors)
	}
}

// A3.10: what stands under the claim's name is the claim's when it made it, whatever the cache shows.
func TestACreationWhoseAnswerWasLost(t *testing.T) {
	claim := claimWith()
	own := coldFor(claim)
	own.UID = "uid-own"
	cases := map[string]struct {
		standing *sandboxv1beta1.Sandbox
		reason   string
	}{
		"it is the claim's": {own, ""},
		"it goes":           {sandboxFrom(own, leaving, func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"test/hold"} }), extensionsv1beta1.ReasonSandboxNotReady},
		"it is of the pool that the claim named before": {sandboxFrom(own, ofAnother), extensionsv1beta1.ReasonSandboxNotReady},
		"it is of that pool, and goes": {
			sandboxFrom(own, ofAnother, leaving, func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"test/hold"} }), extensionsv1beta1.ReasonSandboxNotReady,
		},
		"it is nobody's": {sandboxFrom(own, func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil }), extensionsv1beta1.ReasonAdoptionConflict},
		"it is another claim's": {sandboxFrom(own, func(s *sandboxv1beta1.Sandbox) {
			s.OwnerReferences[0].Name, s.OwnerReferences[0].UID = "other", "uid-2"
		}), extensionsv1beta1.ReasonAdoptionConflict},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, interceptor.Funcs{}, tc.standing, claim)
			var d done
			newReconciler(cluster, candidates.New()).create(context.Background(), seenWith(claim), coldFor(claim), &d)
			var refused refusal
			if errors.As(errors.Join(d.errors...), &refused); refused.reason != tc.reason || (d.sandbox != nil) != (tc.reason == "") || d.outdated {
				t.Errorf("got %v, refused %+v, errors %v, looked at again without an event: %v", d.sandbox, refused, d.errors, d.outdated)
			}
		})
	}
}

// What stands under the claim's name and belongs to a claim of that name which is gone is in the way of this one: it goes. What
// has changed since then stays, and so does all when this claim is the one that is gone.
func TestTheSandboxOfAnEarlierClaimOfTheNameGoes(t *testing.T) {
	claim := claimWith()
	left := sandboxFrom(coldFor(claim), func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].UID = "uid-earlier" })
	later := claimWith(func(c *extensionsv1beta1.SandboxClaim) { c.UID = "uid-later" })
	cases := map[string]struct {
		stored            *extensionsv1beta1.SandboxClaim
		changes           bool
		gone, told, again bool
	}{
		"the claim is there":             {claim, false, true, true, false},
		"the Sandbox changes meanwhile":  {claim, true, false, true, true},
		"the claim is gone, and another": {later, false, false, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			drop := func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
				if tc.changes {
					return apierrors.NewConflict(schema.GroupResource{Resource: "sandboxes"}, obj.GetName(), errors.New("it has changed"))
				}
				return c.Delete(ctx, obj, o...)
			}
			cluster := newCluster(t, interceptor.Funcs{Delete: drop}, left, tc.stored)
			var d done
			newReconciler(cluster, candidates.New()).create(context.Background(), seenWith(claim), coldFor(claim), &d)
			var refused refusal
			told := errors.As(errors.Join(d.errors...), &refused) && refused.reason == extensionsv1beta1.ReasonSandboxNotReady
			found, err := consistency.Find(context.Background(), cluster, client.ObjectKeyFromObject(left), &sandboxv1beta1.Sandbox{})
			if err != nil || found == tc.gone || told != tc.told || d.outdated != tc.again || d.sandbox != nil {
				t.Errorf("the Sandbox is there: %v, %v; told %v (%v), again %v", found, err, told, d.errors, d.outdated)
			}
		})
	}
}

func sandboxFrom(box *sandboxv1beta1.Sandbox, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	changed := box.DeepCopy()
	for _, change := range modify {
		change(changed)
	}
	return changed
}

// A3.12: a pass that is broken off by the end of the process has published nothing and asks for nothing.
func TestAPassThatIsBrokenOffPublishesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	patch := func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
		cancel()
		return ctx.Err()
	}
	claim := claimWith(func(c *extensionsv1beta1.SandboxClaim) { c.ResourceVersion = "" })
	pool, template := testPool(), testTemplate()
	cluster := newCluster(t, interceptor.Funcs{Patch: patch}, claim, pool, template, memberNamed("a"))
	members := candidates.New()
	members.ObserveSandbox(memberNamed("a"))
	result, err := newReconciler(cluster, members).Reconcile(ctx, requestFor(claim))
	now := &extensionsv1beta1.SandboxClaim{}
	if readErr := cluster.Get(context.Background(), client.ObjectKeyFromObject(claim), now); readErr != nil {
		t.Fatal(readErr)
	}
	if err != nil || result.RequeueAfter != 0 || now.Status.Sandbox.Name != "" || members.Count("uid-pool") != 1 {
		t.Errorf("result %v, %v, status %+v, %d members", result, err, now.Status, members.Count("uid-pool"))
	}
}

// A3.26: what is known of a claim goes with it, however it went.
func TestNothingIsKeptOfAClaimThatIsGone(t *testing.T) {
	claim := claimWith()
	r := newReconciler(newCluster(t, interceptor.Funcs{}), candidates.New())
	r.lastWrites.Record(client.ObjectKeyFromObject(claim), consistency.Write[types.NamespacedName]{Unanswered: true})
	r.echoes.Writes(client.ObjectKeyFromObject(claim), "status")
	if _, err := r.Reconcile(context.Background(), requestFor(claim)); err != nil || r.lastWrites.Len() != 0 || r.echoes.Len() != 0 {
		t.Errorf("%v, kept %d writes and %d statuses", err, r.lastWrites.Len(), r.echoes.Len())
	}
}

func TestWhatWakesAClaim(t *testing.T) {
	bound := ownSandbox(1)
	unready := sandboxFrom(memberNamed("a"), func(s *sandboxv1beta1.Sandbox) { s.Status.PodIPs = nil })
	mine, waiting := requestFor(claimWith()), requestFor(claimWith(func(c *extensionsv1beta1.SandboxClaim) { c.Name = "waiting" }))
	named := requestFor(claimWith(func(c *extensionsv1beta1.SandboxClaim) { c.Name = "a" }))
	cases := map[string]struct {
		was, is *sandboxv1beta1.Sandbox
		want    []ctrl.Request
	}{
		"its Sandbox comes":                            {nil, bound, []ctrl.Request{mine}},
		"its Sandbox becomes Ready":                    {bound, sandboxFrom(bound, readyAs(metav1.Condition{Status: metav1.ConditionTrue})), []ctrl.Request{mine}},
		"nothing that a claim tells changes (A5.4)":    {bound, sandboxFrom(bound, func(s *sandboxv1beta1.Sandbox) { s.Status.NodeName = "n1" }), nil},
		"a member becomes its own":                     {memberNamed("box-1"), bound, []ctrl.Request{mine}},
		"a member can be taken, and one waits (A5.10)": {unready, memberNamed("a"), []ctrl.Request{waiting}},
		"a member that could be taken still can":       {memberNamed("a"), sandboxFrom(memberNamed("a"), func(s *sandboxv1beta1.Sandbox) { s.Status.PodIPs = []string{"10.0.0.2"} }), nil},
		"one of its name is gone":                      {memberNamed("a"), nil, []ctrl.Request{named}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, interceptor.Funcs{}, claimWith(publishing("box-1")), claimWith(func(c *extensionsv1beta1.SandboxClaim) { c.Name = "waiting" }))
			got := newReconciler(cluster, candidates.New()).WokenBy(context.Background(), tc.was, tc.is)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}
