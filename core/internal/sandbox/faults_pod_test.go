package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// podOf is a Pod of that name that the Sandbox controls, made by somebody else than the controller.
func (w world) podOf(box *sandboxv1beta1.Sandbox, name string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, OwnerReferences: owned(box.UID, box.Name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1"}}},
	}
	w.must("creating a Pod", w.user.Create(context.Background(), pod))
	return pod
}

func annotated(key, value string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Annotations = map[string]string{key: value} }
}

func resumed(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning }

func (w world) podNames() []string {
	w.t.Helper()
	var pods corev1.PodList
	w.must("listing Pods", w.user.List(context.Background(), &pods, client.InNamespace(w.namespace)))
	var found []string
	for i := range pods.Items {
		found = append(found, pods.Items[i].Name)
	}
	return found
}

// A1.1: an annotation that names a Pod which is gone is dropped, and keeps nothing from going on.
func TestAStalePodNameIsDropped(t *testing.T) {
	w := newWorld(t)
	box := w.create(annotated(sandboxv1beta1.AnnotationPodName, "long-gone"))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	testkit.Eventually(t, "the annotation is gone", func() error {
		if w.get(box); box.Annotations[sandboxv1beta1.AnnotationPodName] != "" {
			return fmt.Errorf("annotations %v", box.Annotations)
		}
		return nil
	})
}

// The Sandbox's own name in it is what pools write and old clients need: it stays, whether the Pod is there or not.
func TestThePodNameOfAMemberStays(t *testing.T) {
	w := newWorld(t)
	box := w.create(suspended, annotated(sandboxv1beta1.AnnotationPodName, "box"))
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
	w.edit(box, resumed)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	if w.get(box); box.Annotations[sandboxv1beta1.AnnotationPodName] != "box" {
		t.Errorf("annotations %v", box.Annotations)
	}
}

// A1.2: Ready turns False in the first status after the deletion was seen, within a second, and comes back.
func TestReadyIsLostAsSoonAsThePodIsDeleted(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	pod := w.pod()
	w.get(pod)
	w.patchPod(fmt.Sprintf(`{"metadata":{"annotations":{%q:"yes"}}}`, testkit.HoldAnnotation))
	watcher, err := w.watch(box)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	w.writes.Reset()
	drained := time.Now()
	w.must("draining", w.user.Delete(context.Background(), pod.DeepCopy(), client.GracePeriodSeconds(60)))
	for change := range watcher.ResultChan() {
		changed, ok := change.Object.(*sandboxv1beta1.Sandbox)
		if !ok {
			t.Fatalf("watching: %v", change.Object)
		}
		if ready := meta.FindStatusCondition(changed.Status.Conditions, sandboxv1beta1.ConditionReady); ready.Status != metav1.ConditionTrue {
			if took := time.Since(drained); took > time.Second || ready.Message != "Pod is terminating" || w.writes.Counts()["PATCH sandboxes/status"] != 1 {
				t.Errorf("%s after the drain, with writes %v: %+v", took, w.writes.Counts(), ready)
			}
			break
		}
	}
	w.must("the kubelet is done", w.user.Delete(context.Background(), pod.DeepCopy(), client.GracePeriodSeconds(0)))
	w.waitForAnotherPod(pod.UID)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

// A1.3, A1.4: a Pod of another name that the Sandbox controls is its Pod; what the annotation says makes no difference.
func TestAPodIsFoundByItsOwnerNotByName(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	other := w.podOf(box, "elsewhere")
	w.waitForReady(box, sandboxv1beta1.ReasonMultiplePods, "")
	w.must("deleting the Pod of the Sandbox's name", w.user.Delete(context.Background(), w.pod()))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	if w.get(other); len(other.Status.PodIPs) == 0 || !cmp.Equal(box.Status.PodIPs, []string{other.Status.PodIPs[0].IP}) {
		t.Errorf("status %v, Pod %v", box.Status.PodIPs, other.Status.PodIPs)
	}
	for _, name := range []string{"box", "elsewhere", "no-such-pod", ""} {
		w.edit(box, annotated(sandboxv1beta1.AnnotationPodName, name))
	}
	testkit.Throughout(t, StatusWindow, "no second Pod is made", func() error {
		if diff := cmp.Diff([]string{"elsewhere"}, w.podNames()); diff != "" {
			return fmt.Errorf("Pods (-want +got):\n%s", diff)
		}
		return nil
	})
}

// waitForRoutes waits until the Service selects so many Pods.
func (w world) waitForRoutes(want int) {
	w.t.Helper()
	testkit.Eventually(w.t, "routes", func() error {
		service := w.service()
		w.get(service)
		var pods corev1.PodList
		w.must("listing Pods", w.user.List(context.Background(), &pods, client.InNamespace(w.namespace), client.MatchingLabels(service.Spec.Selector)))
		if len(pods.Items) != want {
			return fmt.Errorf("%v selects %d Pods, want %d", service.Spec.Selector, len(pods.Items), want)
		}
		return nil
	})
}

// A1.5: of two Pods none is chosen; the message stays the same when something else goes wrong too.
func TestTwoPodsFailClosed(t *testing.T) {
	w := newWorld(t)
	box := w.create(service(true))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	second := w.podOf(box, "second")
	const twoLine = "Ready=False MultiplePods: multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod"
	w.waitFor(box, notSuspendedLine, twoLine)
	w.waitForEvents(sandboxv1beta1.ReasonMultiplePods)
	if box.Status.PodIPs != nil || box.Status.Service != "" || box.Status.ServiceFQDN != "" || !w.exists(w.service()) {
		t.Errorf("nothing routes, the Service stays: %+v", box.Status)
	}
	w.waitForRoutes(0)

	w.edit(box, func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Name: "Not A Name"}}
	})
	w.waitFor(box, notSuspendedLine, twoLine)

	w.must("deleting the second Pod", w.user.Delete(context.Background(), second))
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Ports = nil })
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "")
	w.waitForRoutes(1)
	if diff := cmp.Diff([]string{"box"}, w.podNames()); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
}

// A1.12: a resume that a quota blocks says so until the Pod is there, whatever wakes it meanwhile.
func TestAResumeUnderAQuotaSticksToItsReason(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	w.edit(box, suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
	w.setQuota("none-left", corev1.ResourcePods, "0")
	w.edit(box, resumed)
	const blockedLine = `Ready=False QuotaExceeded: Pod "box": ResourceQuota "none-left" leaves no room for it: pods (requested 1 of 0)`
	w.waitFor(box, notSuspendedLine, blockedLine)
	w.edit(box, annotated("touched", "yes"))
	testkit.Throughout(t, 2*StatusWindow, "the reason stays", func() error {
		w.get(box)
		if diff := cmp.Diff([]string{notSuspendedLine, blockedLine}, lines(box.Status.Conditions)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	w.setQuota("none-left", corev1.ResourcePods, "1")
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

// A1.13, A1.14, A6.1: whatever the annotation says, a Pod that is not ours is neither deleted nor shown.
func TestSuspensionLeavesAForeignPodAlone(t *testing.T) {
	w := newWorld(t)
	victims := []*corev1.Pod{w.pod(), {ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "victim"}}}
	for _, victim := range victims {
		victim.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
		w.must("creating a Pod", w.user.Create(context.Background(), victim))
	}
	box := w.create(suspended, service(true), annotated(sandboxv1beta1.AnnotationPodName, "victim"))
	w.waitFor(box, "Suspended=False PodNotOwned: Refused to delete pod because it is not owned by this sandbox",
		"Ready=False SandboxSuspended: Sandbox is suspending")
	testkit.Throughout(t, StatusWindow, "the Pods are left alone", func() error {
		for _, victim := range victims {
			if w.get(victim); victim.DeletionTimestamp != nil {
				return fmt.Errorf("%s is being deleted", victim.Name)
			}
		}
		return nil
	})
	if w.get(box); box.Status.PodIPs != nil || box.Status.NodeName != "" || box.Annotations[sandboxv1beta1.AnnotationPodName] != "victim" || !w.exists(w.service()) {
		t.Errorf("status %+v, annotations %v", box.Status, box.Annotations)
	}
}

// A1.26: an orphan that was this Sandbox's, by its hash, does not go on running beside a suspended one.
func TestSuspensionStopsAnOrphanOfItsOwn(t *testing.T) {
	w := newWorld(t)
	orphan := w.pod()
	orphan.Labels = map[string]string{sandboxv1beta1.LabelSandboxNameHash: boxHash()}
	orphan.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	w.must("creating the orphan", w.user.Create(context.Background(), orphan))
	box := w.create(suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
	if w.exists(w.pod()) {
		t.Error("the orphan still runs")
	}
}

// A1.29: a new podTemplate.spec is told, and applied by suspend and resume.
func TestDriftIsToldUntilItIsApplied(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Image = "image:2" })
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine,
		"PodTemplateDrifted=True PodSpecChanged: podTemplate.spec has changed since the Pod was created; suspend and resume the Sandbox to apply it")
	w.edit(box, suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
	w.edit(box, resumed)
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	pod := w.pod()
	if w.get(pod); pod.Spec.Containers[0].Image != "image:2" {
		t.Errorf("the Pod runs %s", pod.Spec.Containers[0].Image)
	}
}

// Same-name re-creation while the old Pod is on its way out: the successor waits for the name, and for its disk's end.
func TestASuccessorWaitsForThePodOfItsPredecessor(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	old := w.pod()
	w.get(old)
	w.patchPod(fmt.Sprintf(`{"metadata":{"annotations":{%q:"yes"}}}`, testkit.HoldAnnotation))
	w.must("deleting the Sandbox", w.user.Delete(context.Background(), box))
	successor := w.create()
	w.waitFor(successor, notSuspendedLine, "Ready=False DependenciesNotReady: Pod does not exist; an earlier Pod of that name is still on its way out")
	w.must("the garbage collector comes by", w.user.Delete(context.Background(), old.DeepCopy(), client.GracePeriodSeconds(0)))
	made := w.waitForAnotherPod(old.UID)
	w.waitFor(successor, notSuspendedLine, scheduledLine, readyLine)
	if !isOurs(made, successor) {
		t.Errorf("the Pod's owners: %v", made.OwnerReferences)
	}
}

// In a deletion in the foreground the garbage collector, which is not here, waits for a Pod that it never deletes when that
// Pod was made after it had looked. The Sandbox's own controller knows better.
func TestADeletionInTheForegroundTakesAPodMadeTooLateAlong(t *testing.T) {
	w := newWorld(t)
	box := w.create(disk("data"))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	w.must("deleting the Sandbox", w.user.Delete(context.Background(), box, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	w.waitForNoPod()
	late := w.podOf(box, "box")
	w.waitForNoPod()
	if w.get(box); box.DeletionTimestamp == nil || late.UID == "" {
		t.Errorf("the Sandbox waits for its other children: %+v", box.ObjectMeta)
	}
}

// A Sandbox that cannot go at once expires all the same, and goes on telling what is so.
func TestASandboxThatIsHeldExpiresAndTellsTheTruth(t *testing.T) {
	hold := func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"test/hold"} }
	t.Run("it expires under Delete", func(t *testing.T) {
		w := newWorld(t)
		box := w.create(hold, service(true))
		w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
		w.edit(box, shutdownAt(time.Now().Add(-time.Second), sandboxv1beta1.ShutdownPolicyDelete))
		w.waitFor(box, notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired")
		w.waitForNoPod()
		if w.get(box); box.DeletionTimestamp == nil || box.Status.PodIPs != nil || w.exists(w.service()) {
			t.Errorf("deleted at %v, status %+v", box.DeletionTimestamp, box.Status)
		}
	})
	t.Run("its Pod goes", func(t *testing.T) {
		w := newWorld(t)
		box := w.create(hold)
		w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
		w.must("deleting the Sandbox", w.user.Delete(context.Background(), box))
		w.must("deleting its Pod", w.user.Delete(context.Background(), w.pod()))
		w.waitFor(box, notSuspendedLine, "Ready=False DependenciesNotReady: Pod does not exist")
		if w.get(box); box.Status.PodIPs != nil || box.Status.NodeName != "" || w.exists(w.pod()) {
			t.Errorf("status %+v", box.Status)
		}
	})
}

func (w world) waitForNoPod() {
	w.t.Helper()
	testkit.Eventually(w.t, "no Pod", func() error {
		if names := w.podNames(); len(names) > 0 {
			return fmt.Errorf("Pods %v", names)
		}
		return nil
	})
}

// Suspend and resume in quick turns: there are never two Pods at a time, and the end is as the spec says.
func TestTurnsOfSuspendAndResumeNeverMakeTwoPods(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	for turn := range 30 {
		change := suspended
		if turn%2 == 1 {
			change = resumed
		}
		w.edit(box, change)
		if names := w.podNames(); len(names) > 1 {
			t.Fatalf("Pods %v", names)
		}
	}
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

// ownedBy says which Sandbox controls an object.
func ownedBy(obj client.Object) types.UID {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return ref.UID
	}
	return ""
}
