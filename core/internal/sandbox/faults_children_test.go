package sandbox

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// watch tells the changes of one Sandbox from now on.
func (w world) watch(box *sandboxv1beta1.Sandbox) (watch.Interface, error) {
	watching, err := client.NewWithWatch(apiServer.Config, client.Options{Scheme: w.user.Scheme()})
	if err != nil {
		return nil, err
	}
	return watching.Watch(context.Background(), &sandboxv1beta1.SandboxList{}, client.InNamespace(w.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: box.ResourceVersion}})
}

// A1.18: a status goes out without a version, so edits of the object never stand in its way.
func TestEditsNeverConflictWithStatuses(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	for i := range 40 {
		w.edit(box, annotated("edit", fmt.Sprint(i)))
	}
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	if counts := w.writes.Counts(); counts["PATCH sandboxes/status"] > 2 || counts["POST pods"] != 1 {
		t.Errorf("writes %v", counts)
	}
}

// A1.20: what others did to selector and label of our Service is put right.
func TestAServiceIsPutRight(t *testing.T) {
	w := newWorld(t)
	box := w.create(service(true))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	right := w.service()
	w.get(right)
	edited := right.DeepCopy()
	edited.Spec.Selector = map[string]string{"app": "victim"}
	edited.Labels = map[string]string{"mine": "kept"}
	w.must("editing the Service", w.user.Update(context.Background(), edited))
	testkit.Eventually(t, "the Service is as it was", func() error {
		now := w.service()
		w.get(now)
		if diff := cmp.Diff(right.Spec.Selector, now.Spec.Selector); diff != "" {
			return fmt.Errorf("selector (-want +got):\n%s", diff)
		}
		if now.Labels[sandboxv1beta1.LabelSandboxNameHash] != boxHash() || now.Labels["mine"] != "kept" {
			return fmt.Errorf("labels %v", now.Labels)
		}
		return nil
	})
}

// A1.33, A6.3: two names with the same hash, and a template that claims the hash of another: no Service reaches a Pod that is not its own.
func TestNoServiceReachesAnothersPod(t *testing.T) {
	w := newWorld(t)
	one, two := collidingNames(t)
	thief := sandboxWith(func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Metadata.Labels = map[string]string{
			sandboxv1beta1.LabelSandboxNameHash: names.Hash(one), sandboxv1beta1.LabelSandboxUID: "forged", "app": "mine",
		}
	})
	boxes := map[string]*sandboxv1beta1.Sandbox{one: sandboxWith(service(true)), two: sandboxWith(service(true)), "thief": thief}
	for name, box := range boxes {
		box.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: name}
		w.must("creating a Sandbox", w.user.Create(context.Background(), box))
	}
	for name, box := range boxes {
		w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "")
		if name == "thief" {
			continue
		}
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
		w.get(service)
		var reached corev1.PodList
		w.must("listing by the selector", w.user.List(context.Background(), &reached, client.InNamespace(w.namespace), client.MatchingLabels(service.Spec.Selector)))
		if len(reached.Items) != 1 || ownedBy(&reached.Items[0]) != box.UID {
			t.Errorf("the Service of %s reaches %d Pods: %v", name, len(reached.Items), reached.Items)
		}
	}
}

// collidingNames finds two names of one hash: 32 bits are few.
func collidingNames(t *testing.T) (string, string) {
	t.Helper()
	known := map[string]string{}
	for i := range 1_000_000 {
		name := fmt.Sprintf("box-%d", i)
		hash := names.Hash(name)
		if other, taken := known[hash]; taken {
			return other, name
		}
		known[hash] = name
	}
	t.Fatal("no collision")
	return "", ""
}

// What a cache that lags behind shows as a Sandbox, and the API server does not, takes nothing over: it would be collected with it.
func TestNothingIsTakenOverForASandboxThatIsGone(t *testing.T) {
	box := sandboxWith()
	orphan := runningPod(unowned)
	gone := map[string]*sandboxv1beta1.Sandbox{
		"deleted":  nil,
		"replaced": sandboxWith(func(s *sandboxv1beta1.Sandbox) { s.UID = "uid-successor" }),
		"on its way": sandboxWith(func(s *sandboxv1beta1.Sandbox) {
			s.Finalizers = []string{metav1.FinalizerOrphanDependents}
			s.DeletionTimestamp = &metav1.Time{Time: testNow}
		}),
		"there": box,
	}
	for name, current := range gone {
		t.Run(name, func(t *testing.T) {
			live := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(orphan.DeepCopy())
			if current != nil {
				live = live.WithObjects(current.DeepCopy())
			}
			cluster := live.Build()
			reconciler := New(testConfig(t, cluster))
			p := decide(seenWith(box, withForeignPod(orphan)))
			p.pod.patch.metadata.ResourceVersion = "" // the fake counts its own
			d := reconciler.act(context.Background(), box, p)
			pod := &corev1.Pod{}
			if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(orphan), pod); err != nil {
				t.Fatal(err)
			}
			if adopted := ownedBy(pod) == box.UID; adopted != (name == "there") || len(d.errors) > 0 {
				t.Errorf("adopted %v, errors %v", adopted, d.errors)
			}
		})
	}
}

// A disk whose Pod was not taken over, since that has changed meanwhile, is not either: the Sandbox could not go before that Pod.
func TestADiskIsNotTakenOverWithoutItsPod(t *testing.T) {
	box := sandboxWith(disk("data"))
	orphan := runningPod(unowned)
	claim := desiredClaim(box.Spec.VolumeClaimTemplates[0], box)
	claim.OwnerReferences = nil
	cluster := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(box.DeepCopy(), orphan.DeepCopy(), claim).Build()
	seenClaim := &corev1.PersistentVolumeClaim{}
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(claim), seenClaim); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1", ""} {
		adopted := version == ""
		p := decide(seenWith(box, withForeignPod(orphan), withClaim(seenClaim)))
		p.pod.patch.metadata.ResourceVersion = version
		d := New(testConfig(t, cluster)).act(context.Background(), box, p)
		now := &corev1.PersistentVolumeClaim{}
		if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(claim), now); err != nil {
			t.Fatal(err)
		}
		if isOurs(now, box) != adopted || len(d.errors) > 0 {
			t.Errorf("Pod at version %q: adopted %v, errors %v", version, isOurs(now, box), d.errors)
		}
	}
}

// Whoever deletes a Sandbox and keeps its children may do so while they are taken over for it: the disk is not, or is given back, or
// it would go with the Sandbox.
func TestADiskIsNotTakenOverOnceTheSandboxGoes(t *testing.T) {
	for name, after := range map[string]client.Object{"after its Pod was": &corev1.Pod{}, "after it was": &corev1.PersistentVolumeClaim{}} {
		t.Run(name, func(t *testing.T) {
			box := sandboxWith(disk("data"), func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{metav1.FinalizerOrphanDependents} })
			orphan := runningPod(unowned)
			claim := desiredClaim(box.Spec.VolumeClaimTemplates[0], box)
			claim.OwnerReferences = nil
			cluster := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(box.DeepCopy(), orphan.DeepCopy(), claim.DeepCopy()).
				WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if err := c.Patch(ctx, obj, patch, opts...); err != nil || kindOf(obj) != kindOf(after) {
						return err
					}
					return c.Delete(ctx, box.DeepCopy())
				}}).Build()
			p := decide(seenWith(box, withForeignPod(orphan), withClaim(claim)))
			p.pod.patch.metadata.ResourceVersion = "" // the fake counts its own
			p.claims[0].adopt.metadata.ResourceVersion = ""
			d := New(testConfig(t, cluster)).act(context.Background(), box, p)
			now := &corev1.PersistentVolumeClaim{}
			if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(claim), now); err != nil {
				t.Fatal(err)
			}
			if d.pod == nil || len(now.OwnerReferences) > 0 || len(d.errors) > 0 {
				t.Errorf("Pod %v, owners of the disk %v, errors %v", d.pod != nil, now.OwnerReferences, d.errors)
			}
		})
	}
}

// A1.32: one pass makes everything that a new Sandbox needs, also when it carries a trace.
func TestANewSandboxTakesOnePass(t *testing.T) {
	box := sandboxWith(disk("data"), service(true), annotated(sandboxv1beta1.AnnotationTraceContext, `{"traceparent":"x"}`))
	cluster := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(box).WithStatusSubresource(box).
		WithIndex(&corev1.Pod{}, podsByController, ownership.IndexByController(sandboxKind())).Build()
	ctx := context.Background()
	if _, err := New(testConfig(t, cluster)).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(box)}); err != nil {
		t.Fatal(err)
	}
	for name, child := range map[string]client.Object{"box": &corev1.Pod{}, "data-box": &corev1.PersistentVolumeClaim{}} {
		if err := cluster.Get(ctx, client.ObjectKey{Namespace: "ns", Name: name}, child); err != nil || ownedBy(child) != box.UID {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := cluster.Get(ctx, client.ObjectKeyFromObject(box), &corev1.Service{}); err != nil {
		t.Error(err)
	}
}

// A1.34: Pods that cannot be listed are an error that is told and tried again, not an absence of Pods.
func TestPodsThatCannotBeListedAreNotAbsent(t *testing.T) {
	boom := errors.New("index gone")
	box := sandboxWith(suspended)
	cached := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(box).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return boom },
	}).Build()
	reconciler := New(testConfig(t, cached))
	s, err := reconciler.observe(context.Background(), box)
	if !errors.Is(err, boom) || !s.podsUnknown {
		t.Fatalf("observed %+v, %v", s, err)
	}
	got := lines(desiredStatus(s, []error{err}, "cluster.local").Conditions)
	want := []string{
		"Suspended=Unknown PodStateUnknown: Pod state is unknown. Sandbox suspension cannot be confirmed",
		"PodScheduled=Unknown PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined",
		`Ready=False ReconcilerError: Error seen: listing the Pods of Sandbox "box": index gone`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (A1.13) (-want +got):\n%s", diff)
	}
}

// A6.2: a PersistentVolumeClaim of a fitting name is taken over only when it says itself that it may be.
func TestADiskIsNotTakenByItsNameAlone(t *testing.T) {
	w := newWorld(t)
	theirs := w.claim()
	theirs.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	w.must("creating a claim", w.user.Create(context.Background(), theirs))
	box := w.create(disk("data"))
	w.waitForReady(box, sandboxv1beta1.ReasonReconcilerError, `PersistentVolumeClaim "data-box" exists and is not owned by this Sandbox`)
	if w.get(theirs); ownedBy(theirs) != "" || w.exists(w.pod()) {
		t.Errorf("owners %v", theirs.OwnerReferences)
	}
	w.must("deleting the Sandbox", w.user.Delete(context.Background(), box))
	if w.get(theirs); theirs.DeletionTimestamp != nil {
		t.Error("the claim goes with a Sandbox that never owned it")
	}
	again := w.create(disk("data"))
	before := theirs.DeepCopy()
	theirs.Labels = map[string]string{sandboxv1beta1.LabelAdoptable: "true"}
	w.must("labelling the claim", w.user.Patch(context.Background(), theirs, client.MergeFrom(before)))
	w.waitFor(again, notSuspendedLine, scheduledLine, readyLine)
	if w.get(theirs); ownedBy(theirs) != again.UID {
		t.Errorf("owners %v", theirs.OwnerReferences)
	}
}

// Where the caches are narrowed to what carries our label, a Pod of ours that has lost it is found all the same.
func TestNarrowedCachesLoseNoPod(t *testing.T) {
	narrowed, err := LabelledOnly(CacheOptions())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(s *settings) { s.cache = narrowed })
	box := w.create(service(true))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	pod := w.pod()
	w.get(pod)
	w.patchPod(fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, sandboxv1beta1.LabelSandboxNameHash))
	testkit.Eventually(t, "the label is back", func() error {
		now := w.pod()
		if w.get(now); now.UID != pod.UID || now.Labels[sandboxv1beta1.LabelSandboxNameHash] != boxHash() {
			return fmt.Errorf("Pod %+v", now.ObjectMeta)
		}
		return nil
	})
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "")
}

func TestMetadataIsCoalescedWithinItsWindow(t *testing.T) {
	w := newWorld(t, func(s *settings) { s.writeBehind = StatusWindow })
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	w.writes.Reset()
	for i := range 10 {
		w.edit(box, func(s *sandboxv1beta1.Sandbox) {
			s.Spec.PodTemplate.Metadata.Labels = map[string]string{"edit": fmt.Sprint(i)}
		})
	}
	testkit.Eventually(t, "the last edit has reached the Pod", func() error {
		pod := w.pod()
		if w.get(pod); pod.Labels["edit"] != "9" {
			return fmt.Errorf("labels %v", pod.Labels)
		}
		return nil
	})
	if n := w.writes.Counts()["PATCH pods"]; n > 3 {
		t.Errorf("%d patches for 10 edits", n)
	}
}

// A reconcile is a span of the trace that the Sandbox's annotation carries.
func TestAReconcileContinuesTheTrace(t *testing.T) {
	w := newWorld(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	box := w.create(annotated(sandboxv1beta1.AnnotationTraceContext, `{"traceparent":"00-`+trace+`-00f067aa0ba902b7-01"}`))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	testkit.Eventually(t, "a span", func() error {
		for _, span := range w.spans.GetSpans() {
			if span.SpanContext.TraceID().String() == trace {
				if !hasAttribute(span.Attributes, "sandbox.name", "box") {
					return fmt.Errorf("attributes %v", span.Attributes)
				}
				return nil
			}
		}
		return errors.New("there is none of that trace")
	})
	pod := w.pod()
	if w.get(pod); pod.Annotations[sandboxv1beta1.AnnotationTraceContext] != "" {
		t.Error("the Pod carries the trace")
	}
}

func hasAttribute(attributes []attribute.KeyValue, key, value string) bool {
	for _, is := range attributes {
		if string(is.Key) == key && is.Value.AsString() == value {
			return true
		}
	}
	return false
}

// A5.9: a burst of events about one Sandbox makes few passes and no write that changes nothing.
func TestABurstOfEventsWritesNothing(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	w.writes.Reset()
	for i := range 50 {
		w.patchPod(fmt.Sprintf(`{"metadata":{"annotations":{"burst":"%d"}}}`, i))
	}
	testkit.Throughout(t, StatusWindow, "nothing is written", func() error {
		if n := w.writes.Requests(); n > 0 {
			return fmt.Errorf("%d requests: %v", n, w.writes.Counts())
		}
		return nil
	})
}

// A Pod that cannot be made tells so in its Sandbox's Events; a foreign one is not hidden by an error.
func TestAForbiddenChildIsNotExplainedAway(t *testing.T) {
	box := sandboxWith()
	reconciler := New(testConfig(t, fake.NewClientBuilder().WithScheme(testScheme(t)).Build()))
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "box", errors.New("no"))
	got := reconciler.explain(context.Background(), box, desiredPod(seenWith(box)), forbidden)
	if _, explained := errors.AsType[blocked](got); explained || !errors.Is(got, forbidden) {
		t.Errorf("explained as %v", got)
	}
}
