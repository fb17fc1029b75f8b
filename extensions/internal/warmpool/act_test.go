package warmpool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
)

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

// newReconciler acts on an API server in memory whose answers to creations come from create, where that is not nil.
func newReconciler(t *testing.T, create func(name string) error, objects ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	cluster := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := create(obj.GetName()); err != nil {
				return err
			}
			return c.Create(ctx, obj, o...)
		},
	}).Build()
	var mu sync.Mutex
	made := 0
	return New(Config{
		Client: cluster, Live: cluster, Unanswered: NewUnanswered(), Buckets: NewBuckets(0, testLimits.Batch), Losses: NewLosses(time.Minute), Arrivals: NewArrivals(), Closures: NewClosures(), Limits: testLimits,
		Suffix: func(int) string {
			mu.Lock()
			defer mu.Unlock()
			made++
			return fmt.Sprintf("%05d", made)
		},
	}), cluster
}

// A4.11: members are made in batches that double, and an API server that refuses is asked no more.
func TestMembersAreMadeInGrowingBatches(t *testing.T) {
	gone := errors.New("no answer")
	cases := map[string]struct {
		// fails says which creations do, by how many there were before.
		fails     func(n int) error
		asked     int
		unsettled int
	}{
		"all succeed":             {func(int) error { return nil }, 10, 0},
		"the first is refused":    {func(int) error { return apierrors.NewForbidden(schema.GroupResource{}, "x", gone) }, 1, 0},
		"no answer to the third":  {func(n int) error { return map[int]error{2: gone}[n] }, 3, 1},
		"a name that is taken":    {func(int) error { return apierrors.NewAlreadyExists(schema.GroupResource{}, "x") }, 10, 0},
		"too much for the server": {func(n int) error { return map[int]error{3: apierrors.NewTooManyRequests("slow", 1)}[n] }, 7, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			asked := 0
			reconciler, _ := newReconciler(t, func(string) error {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return tc.fails(asked - 1)
			})
			s := seenOf(poolOf(10))
			d := reconciler.act(context.Background(), s, plan{create: 10})
			if asked != tc.asked || len(reconciler.unanswered.Of(s.pool.UID)) != tc.unsettled {
				t.Errorf("asked %d times, %v unanswered, errors %v", asked, reconciler.unanswered.Of(s.pool.UID), d.errors)
			}
		})
	}
}

// A4.11: the members of a batch are made at the same time. In a bubble time passes only when all wait for it.
func TestTheMembersOfABatchAreMadeAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reconciler, _ := newReconciler(t, func(string) error {
			<-time.After(time.Second)
			return nil
		})
		begun := time.Now()
		d := reconciler.act(t.Context(), seenOf(poolOf(10)), plan{create: 10})
		// One, two, four, and the three that are left.
		if took := time.Since(begun); len(d.created) != 10 || took != 4*time.Second {
			t.Errorf("%d members took %v, errors %v", len(d.created), took, d.errors)
		}
	})
}

// A4.4: a member that is gone already is no failure, and is waited for by nobody.
func TestAMemberThatIsGoneAlreadyIsDeleted(t *testing.T) {
	reconciler, _ := newReconciler(t, nil)
	d := reconciler.act(t.Context(), seenOf(poolOf(0)), plan{remove: removing(member(1))})
	if len(d.errors) > 0 || d.outdated || d.deleted != 0 {
		t.Errorf("deleted %d, outdated %v, errors %v", d.deleted, d.outdated, d.errors)
	}
}

// A member that nobody answered for is made again under its name.
func TestACreationWithoutAnAnswerIsRepeatedByName(t *testing.T) {
	var names []string
	reconciler, _ := newReconciler(t, func(name string) error {
		names = append(names, name)
		return map[bool]error{true: errors.New("no answer")}[len(names) == 1]
	})
	s := seenOf(poolOf(1))
	reconciler.act(context.Background(), s, plan{create: 1})
	s.pending = reconciler.unanswered.Of(s.pool.UID)
	reconciler.act(context.Background(), s, decide(s, testLimits))
	if len(names) != 2 || names[0] != names[1] || reconciler.unanswered.Len() != 0 {
		t.Errorf("asked for %v, unanswered of %d pools", names, reconciler.unanswered.Len())
	}
}

// A claim that has taken a member since it was seen keeps it.
func TestAMemberThatHasChangedIsNotDeleted(t *testing.T) {
	box := member(1, func(s *sandboxv1beta1.Sandbox) { s.ResourceVersion = "" })
	reconciler, cluster := newReconciler(t, nil, box)
	current := &sandboxv1beta1.Sandbox{}
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(box), current); err != nil {
		t.Fatal(err)
	}
	older := target{name: box.Name, uid: box.UID, resourceVersion: "1"}
	d := reconciler.act(context.Background(), seenOf(poolOf(0)), plan{remove: []target{older}})
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(box), current); err != nil || !d.outdated || len(d.errors) > 0 {
		t.Errorf("the member: %v, outdated %v, errors %v", err, d.outdated, d.errors)
	}
}

// A template from which the API server takes no member is not tried over and over: its change wakes the pool.
func TestMembersThatAreRefusedForEverAreNotTriedAgain(t *testing.T) {
	slow := errors.New("no answer")
	cases := map[string]struct {
		errors []error
		again  bool
	}{
		"one is refused":              {[]error{invalidMember()}, false},
		"several are":                 {[]error{invalidMember(), invalidMember()}, false},
		"something else fails, too":   {[]error{invalidMember(), slow}, true},
		"a quota or a right is short": {[]error{apierrors.NewForbidden(schema.GroupResource{Resource: "sandboxes"}, "pool-1", slow)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reconciler, _ := newReconciler(t, nil)
			reconciler.recorder, reconciler.statuses, reconciler.echoes = events.Discard(), pacer.New[types.UID](), consistency.NewEchoes[types.UID]()
			_, err := reconciler.report(t.Context(), seenOf(poolOf(1)), plan{}, done{errors: tc.errors}).Result()
			if again := err != nil; again != tc.again {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// A2.6, A4.10, A4.22, A3.4: from the first a member carries what its Pod is selected by, its Pod's name, and its pool's.
func TestAMemberSaysWhatItIs(t *testing.T) {
	box := desiredMember(seenOf(poolOf(1)), "pool-abcde")
	labels := map[string]string{
		sandboxv1beta1.LabelTemplateRefHash: names.Hash("agent"), sandboxv1beta1.LabelTemplateRef: names.Digest("agent"),
		sandboxv1beta1.LabelWarmPool: names.Hash("pool"), sandboxv1beta1.LabelLaunchType: sandboxv1beta1.LaunchTypeWarm,
		sandboxv1beta1.LabelCreatedBy: sandboxv1beta1.CreatedByController, extensionsv1beta1.LabelTemplateHash: testHash(),
	}
	if diff := cmp.Diff(labels, box.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	annotations := map[string]string{
		sandboxv1beta1.AnnotationPodName: "pool-abcde", sandboxv1beta1.AnnotationTemplateRef: "agent", extensionsv1beta1.AnnotationWarmPoolRef: "pool",
	}
	if diff := cmp.Diff(annotations, box.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if !metav1.IsControlledBy(box, poolOf(1)) {
		t.Errorf("owners %v", box.OwnerReferences)
	}
}

// A3.18: however long the name of a pool, its members have names that their Pods can have, and no label has to hold them.
func TestMembersOfAPoolWithALongName(t *testing.T) {
	reconciler, _ := newReconciler(t, func(string) error { return nil })
	cases := map[string]string{
		"pool":                          "pool-00001",
		strings.Repeat("a", 253):        strings.Repeat("a", 57) + "-00001",
		strings.Repeat("a", 56) + ".bc": strings.Repeat("a", 56) + "-00001",
		strings.Repeat("a", 55) + "--b": strings.Repeat("a", 55) + "-00001",
	}
	for pool, want := range cases {
		reconciler.suffix = func(int) string { return "00001" }
		name := reconciler.memberName(pool)
		if name != want || len(validation.IsDNS1123Subdomain(name)) > 0 || len(name) > validation.DNS1123LabelMaxLength {
			t.Errorf("pool %s: member %s", pool, name)
		}
		box := desiredMember(seenOf(poolOf(1, func(p *extensionsv1beta1.SandboxWarmPool) { p.Name = pool })), name)
		for key, value := range box.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("label %s=%s: %v", key, value, problems)
			}
		}
	}
}

// A4.15: a member that waits lets its node go, unless the pools are told not to or its template says otherwise.
func TestWhichMembersMayBeEvicted(t *testing.T) {
	const key = sandboxv1beta1.AnnotationSafeToEvict
	cases := map[string]struct {
		evictable bool
		template  map[string]string
		want      string
	}{
		"by default":                   {true, nil, "true"},
		"not with the flag off":        {false, nil, ""},
		"the template says no":         {true, map[string]string{key: "false"}, ""},
		"the template says yes itself": {false, map[string]string{key: "true"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reconciler, _ := newReconciler(t, func(string) error { return nil })
			reconciler.evictable = tc.evictable
			s := seenOf(poolOf(1), func(s *seen) { s.template.Spec.PodTemplate.Metadata.Annotations = tc.template })
			d := reconciler.act(context.Background(), s, plan{create: 1})
			if len(d.created) != 1 {
				t.Fatalf("errors %v", d.errors)
			}
			box := d.created[0]
			if got := box.Annotations[key]; got != tc.want {
				t.Errorf("annotation %q on the Sandbox, want %q", got, tc.want)
			}
			if diff := cmp.Diff(tc.template, box.Spec.PodTemplate.Metadata.Annotations); diff != "" {
				t.Errorf("annotations of the podTemplate (-want +got):\n%s", diff)
			}
			if !s.isFresh(box) {
				t.Error("the member is stale from the first")
			}
		})
	}
}
