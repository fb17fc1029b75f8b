package sandbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// create stores a Sandbox named box in the world's namespace.
func (w world) create(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	w.t.Helper()
	sandbox := sandboxWith(modify...)
	sandbox.ObjectMeta = metav1.ObjectMeta{
		Name: sandbox.Name, Namespace: w.namespace, Labels: sandbox.Labels, Annotations: sandbox.Annotations, Finalizers: sandbox.Finalizers,
	}
	w.must("creating the Sandbox", w.user.Create(context.Background(), sandbox))
	return sandbox
}

func (w world) must(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// edit changes the stored Sandbox as a user would.
func (w world) edit(sandbox *sandboxv1beta1.Sandbox, change func(*sandboxv1beta1.Sandbox)) {
	w.t.Helper()
	w.get(sandbox)
	before := sandbox.DeepCopy()
	change(sandbox)
	w.must("editing the Sandbox", w.user.Patch(context.Background(), sandbox, client.MergeFrom(before)))
}

func (w world) get(obj client.Object) {
	w.t.Helper()
	w.must("reading "+obj.GetName(), w.user.Get(context.Background(), client.ObjectKeyFromObject(obj), obj))
}

func (w world) exists(obj client.Object) bool {
	w.t.Helper()
	err := w.user.Get(context.Background(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatalf("reading %s: %v", obj.GetName(), err)
	}
	return err == nil
}

// waitFor waits until the Sandbox, read anew, has exactly these conditions.
func (w world) waitFor(sandbox *sandboxv1beta1.Sandbox, conditions ...string) {
	w.t.Helper()
	testkit.Eventually(w.t, "conditions of the Sandbox", func() error {
		w.get(sandbox)
		if diff := cmp.Diff(conditions, lines(sandbox.Status.Conditions)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

func (w world) pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "box"}}
}

func (w world) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "box"}}
}

func (w world) claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "data-box"}}
}

const suspendedLine = "Suspended=True PodTerminated: Pod has been terminated. Sandbox is suspended"

func TestASandboxLivesSuspendsAndResumesWithItsDisk(t *testing.T) {
	w := newWorld(t)
	box := w.create(disk("data"), service(true))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")

	pod, claim := w.pod(), w.claim()
	w.get(pod)
	w.get(claim)
	if diff := cmp.Diff(owned(box.UID, "box"), pod.OwnerReferences); diff != "" {
		t.Errorf("the Pod's owners (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{"tier": "data", sandboxv1beta1.LabelSandboxNameHash: boxHash()}
	if diff := cmp.Diff(wantLabels, claim.Labels); diff != "" {
		t.Errorf("the claim's labels (A1.23) (-want +got):\n%s", diff)
	}
	if box.Status.ServiceFQDN != "box."+w.namespace+".svc.cluster.local" || len(box.Status.PodIPs) != 1 || box.Status.NodeName != "node-1" {
		t.Errorf("status %+v", box.Status)
	}

	w.edit(box, suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended")
	if w.exists(w.pod()) || !w.exists(w.service()) {
		t.Error("a suspended Sandbox has no Pod and keeps its Service")
	}
	if box.Status.PodIPs != nil || box.Status.NodeName != "" || box.Status.LabelSelector == "" {
		t.Errorf("a suspended Sandbox keeps its selector and is nowhere: %+v", box.Status)
	}

	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
	// A1.11: Suspended flips and stays.
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	again := w.claim()
	w.get(again)
	if again.UID != claim.UID {
		t.Error("the disk is another one")
	}
	resumed := w.pod()
	w.get(resumed)
	if resumed.UID == pod.UID {
		t.Error("the Pod is the old one")
	}
	w.waitForEvents("SandboxPodCreated", "SandboxReady", "SandboxSuspended", "SandboxResumed")
}

func (w world) waitForEvents(reasons ...string) {
	w.t.Helper()
	testkit.Eventually(w.t, "Events", func() error {
		var list eventsv1.EventList
		w.must("listing Events", w.user.List(context.Background(), &list, client.InNamespace(w.namespace)))
		seen := map[string]bool{}
		for i := range list.Items {
			seen[list.Items[i].Reason] = true
		}
		for _, reason := range reasons {
			if !seen[reason] {
				return fmt.Errorf("%s is missing among %v", reason, seen)
			}
		}
		return nil
	})
}

// The budget of a plain Sandbox: its Pod, and one status, two if it takes longer than the window.
func TestAPlainSandboxCostsTwoOrThreeWrites(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	testkit.Throughout(t, 2*StatusWindow, "nothing more is written", func() error {
		counts := w.writes.Counts()
		if pods, statuses := counts["POST pods"], counts["PATCH sandboxes/status"]; pods != 1 || statuses < 1 || statuses > 2 {
			return fmt.Errorf("writes: %v", counts)
		}
		return nil
	})
	w.writes.Reset()

	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Annotations = map[string]string{"touched": "yes"} })
	testkit.Throughout(t, StatusWindow, "a pass that changes nothing writes nothing", func() error {
		for what, n := range w.writes.Counts() {
			if what != "POST events" {
				return fmt.Errorf("%s: %d", what, n)
			}
		}
		return nil
	})
}

// bindPod does the scheduler's part alone.
func (w world) bindPod() {
	w.t.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
	w.must("binding the Pod", w.user.SubResource("binding").Create(context.Background(), w.pod(), binding))
}

// runPod does the kubelet's part.
func (w world) runPod() {
	w.t.Helper()
	patch := []byte(`{"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],"podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}}`)
	w.must("running the Pod", w.user.Status().Patch(context.Background(), w.pod(), client.RawPatch(types.StrategicMergePatchType, patch)))
}

// The one status more is the only one, however many steps there are on the way to Ready.
func TestASlowPodCostsOneStatusMore(t *testing.T) {
	w := newWorld(t)
	box := w.create(func(s *sandboxv1beta1.Sandbox) {
		s.Spec.PodTemplate.Metadata.Annotations = map[string]string{testkit.HoldAnnotation: "yes"}
	})
	w.waitFor(box, notSuspendedLine, "PodScheduled=Unknown PodSchedulingUnknown: Pod has not reported a PodScheduled condition yet",
		"Ready=False DependenciesNotReady: Pod exists with phase: Pending")
	w.bindPod()
	testkit.Throughout(t, 2*StatusWindow, "a second step is not worth a write of its own", func() error {
		if counts := w.writes.Counts(); counts["PATCH sandboxes/status"] != 1 {
			return fmt.Errorf("writes: %v", counts)
		}
		return nil
	})
	w.runPod()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	if counts := w.writes.Counts(); counts["PATCH sandboxes/status"] != 2 {
		t.Errorf("writes: %v", counts)
	}
}

// A1.1: a Pod that is lost comes back.
func TestALostPodIsReplaced(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	lost := w.pod()
	w.get(lost)
	w.must("deleting the Pod", w.user.Delete(context.Background(), lost))
	testkit.Eventually(t, "another Pod in the status", func() error {
		w.get(box)
		pod := w.pod()
		if !w.exists(pod) || pod.UID == lost.UID {
			return fmt.Errorf("no new Pod")
		}
		if len(pod.Status.PodIPs) == 0 || !cmp.Equal(box.Status.PodIPs, []string{pod.Status.PodIPs[0].IP}) {
			return fmt.Errorf("status has %v", box.Status.PodIPs)
		}
		return nil
	})
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

func TestExpiryRetainsAndRevives(t *testing.T) {
	w := newWorld(t)
	box := w.create(disk("data"), service(true))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	claim := w.claim()
	w.get(claim)

	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.ShutdownTime = ptr.To(metav1.Now()) })
	w.waitFor(box, notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired")
	testkit.Eventually(t, "Pod and Service are gone", func() error {
		if w.exists(w.pod()) || w.exists(w.service()) {
			return fmt.Errorf("still there")
		}
		return nil
	})
	if box.Status.Service != "" || box.Status.ServiceFQDN != "" || box.Status.LabelSelector != "" {
		t.Errorf("only conditions stay: %+v", box.Status)
	}
	w.writes.Reset()
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Annotations = map[string]string{"touched": "yes"} })
	testkit.Throughout(t, StatusWindow, "an expired Sandbox is left in peace (A1.8)", func() error {
		if counts := w.writes.Counts(); counts["DELETE pods"]+counts["DELETE services"]+counts["PATCH sandboxes/status"] > 0 {
			return fmt.Errorf("writes: %v", counts)
		}
		return nil
	})

	w.edit(box, func(s *sandboxv1beta1.Sandbox) {
		s.Spec.ShutdownTime = ptr.To(metav1.NewTime(time.Now().Add(time.Hour)))
	})
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine+"; Service Exists")
	again := w.claim()
	w.get(again)
	if again.UID != claim.UID {
		t.Error("a revived Sandbox has its old disk")
	}
}

func TestExpiryDeletes(t *testing.T) {
	w := newWorld(t)
	box := w.create(shutdownAt(time.Now().Add(2*time.Second), sandboxv1beta1.ShutdownPolicyDelete))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	testkit.Eventually(t, "the Sandbox is gone", func() error {
		if w.exists(box) {
			return fmt.Errorf("still there")
		}
		return nil
	})
	if time.Now().Before(box.Spec.ShutdownTime.Time) {
		t.Error("gone before its time")
	}
	w.waitForEvents("SandboxExpired")
}

// A1.35, and: an ended Pod is not made again when its object is gone.
func TestAnEndedPodStaysEnded(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	pod := w.pod()
	w.get(pod)
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	w.must("ending the Pod", w.user.Status().Patch(context.Background(), pod, client.MergeFrom(before)))
	const finishedLine = "Finished=True PodSucceeded: Pod completed successfully"
	w.waitFor(box, notSuspendedLine, scheduledLine, "Ready=False PodSucceeded: Pod completed successfully", finishedLine)

	w.must("deleting the Pod", w.user.Delete(context.Background(), pod))
	w.waitFor(box, notSuspendedLine, "Ready=False PodSucceeded: Pod completed successfully", finishedLine)
	testkit.Throughout(t, StatusWindow, "the job is not run twice", func() error {
		if w.exists(w.pod()) && pod.DeletionTimestamp == nil {
			return fmt.Errorf("a Pod was made")
		}
		return nil
	})
	w.edit(box, suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended", finishedLine)
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

func TestAForeignPodStandsInTheWayAndIsNotTouched(t *testing.T) {
	w := newWorld(t)
	foreign := w.pod()
	foreign.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	w.must("creating a Pod", w.user.Create(context.Background(), foreign))
	box := w.create()
	w.waitFor(box, notSuspendedLine, `Ready=False ReconcilerError: Error seen: Pod "box" exists and is not owned by this Sandbox: delete it, rename the Sandbox, or label it agents.x-k8s.io/adoptable=true to hand it over`)

	before := foreign.DeepCopy()
	foreign.Labels = map[string]string{sandboxv1beta1.LabelAdoptable: "true"}
	w.must("labelling the Pod", w.user.Patch(context.Background(), foreign, client.MergeFrom(before)))
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	adopted := w.pod()
	w.get(adopted)
	if adopted.UID != foreign.UID || !isOurs(adopted, box) || adopted.Labels[sandboxv1beta1.LabelSandboxUID] != string(box.UID) {
		t.Errorf("adopted Pod %+v", adopted.ObjectMeta)
	}
}

func TestAnInvalidPodSpecIsFinalUntilItChanges(t *testing.T) {
	w := newWorld(t)
	box := w.create(func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Name = "Not A Name" })
	testkit.Eventually(t, "InvalidConfiguration", func() error {
		w.get(box)
		if ready := box.Status.Conditions; len(ready) != 2 || ready[1].Reason != sandboxv1beta1.ReasonInvalidConfiguration {
			return fmt.Errorf("conditions %v", lines(ready))
		}
		return nil
	})
	w.writes.Reset()
	testkit.Throughout(t, time.Second, "nothing is tried again", func() error {
		if n := w.writes.Counts()["POST pods"]; n > 0 {
			return fmt.Errorf("%d Pods were tried", n)
		}
		return nil
	})
	w.edit(box, func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Name = "main" })
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
}

func TestAFailureDoesNotKeepASandboxFromExpiring(t *testing.T) {
	policies := []sandboxv1beta1.ShutdownPolicy{sandboxv1beta1.ShutdownPolicyDelete, sandboxv1beta1.ShutdownPolicyRetain}
	for _, policy := range policies {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			box := w.create(service(true), shutdownAt(time.Now().Add(3*time.Second), policy), func(s *sandboxv1beta1.Sandbox) {
				s.Spec.PodTemplate.Spec.Containers[0].Name = "Not A Name"
			})
			testkit.Eventually(t, "the failure is told", func() error {
				if w.exists(box); len(box.Status.Conditions) != 2 || box.Status.Conditions[1].Reason != sandboxv1beta1.ReasonInvalidConfiguration {
					return fmt.Errorf("conditions %v", lines(box.Status.Conditions))
				}
				return nil
			})
			if policy == sandboxv1beta1.ShutdownPolicyRetain {
				w.waitFor(box, notSuspendedLine, "Ready=False SandboxExpired: Sandbox has expired")
				return
			}
			testkit.Eventually(t, "the Sandbox is gone", func() error {
				if w.exists(box) {
					return fmt.Errorf("still there")
				}
				return nil
			})
		})
	}
}

func TestARefusalOfAnyLengthIsTold(t *testing.T) {
	w := newWorld(t)
	box := w.create(func(s *sandboxv1beta1.Sandbox) {
		for i := range 300 {
			s.Spec.PodTemplate.Spec.Containers = append(s.Spec.PodTemplate.Spec.Containers, corev1.Container{Name: fmt.Sprintf("Bad_%d", i), Image: "image:1"})
		}
	})
	testkit.Eventually(t, "InvalidConfiguration", func() error {
		w.get(box)
		if ready := box.Status.Conditions; len(ready) != 2 || ready[1].Reason != sandboxv1beta1.ReasonInvalidConfiguration {
			return fmt.Errorf("conditions %v", lines(ready))
		}
		return nil
	})
	w.waitForEvents(sandboxv1beta1.EventSandboxPodCreateFailed)
}

func TestAStatusThatOthersEditedIsPutRight(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	right := box.Status.DeepCopy()
	edited := client.RawPatch(types.MergePatchType, []byte(`{"status":{"podIPs":["6.6.6.6"],"nodeName":"elsewhere"}}`))
	w.must("editing the status", w.user.Status().Patch(context.Background(), box, edited))
	testkit.Eventually(t, "the status is as it was", func() error {
		w.get(box)
		if diff := cmp.Diff(*right, box.Status); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// Two incarnations of one name: what was meant for the first never lands on the second.
func TestAWriteNeverLandsOnASuccessor(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitFor(box, notSuspendedLine, scheduledLine, readyLine)
	reconciler := &Reconciler{client: w.user, live: w.user}
	ctx := context.Background()

	predecessor := box.DeepCopy()
	predecessor.UID = "of-the-predecessor"
	body, err := apply.Status(predecessor.UID, predecessor.Status, sandboxv1beta1.SandboxStatus{NodeName: "elsewhere"})
	w.must("making the patch", err)
	err = w.user.Status().Patch(ctx, predecessor.DeepCopy(), client.RawPatch(types.JSONPatchType, body))
	if !apierrors.IsInvalid(err) {
		t.Errorf("a status patch for another UID answers %v", err)
	}
	if err := reconciler.ignoreSuccessor(ctx, box.DeepCopy(), predecessor.UID, err); err != nil {
		t.Errorf("it is no error: %v", err)
	}
	if err := reconciler.ignoreSuccessor(ctx, box.DeepCopy(), box.UID, apierrors.NewInvalid(schema.GroupKind{}, "box", nil)); err == nil {
		t.Error("a status that is refused is one")
	}

	metadata := apply.Metadata{UID: predecessor.UID, Labels: map[string]*string{"landed": ptr.To("yes")}}
	landed, err := reconciler.patch(ctx, &corev1.Pod{}, w.namespace, &metadataPatch{name: "box", metadata: metadata})
	w.must("patching another's Pod is no error, an event will tell", err)
	if landed {
		t.Error("the patch says that it landed")
	}
	w.must("neither is deleting it", reconciler.remove(ctx, &corev1.Pod{}, w.namespace, target{name: "box", uid: predecessor.UID}))
	pod := w.pod()
	w.get(pod)
	w.get(box)
	if pod.Labels["landed"] != "" || pod.DeletionTimestamp != nil || box.Status.NodeName != "node-1" {
		t.Errorf("a write landed: Pod %+v, status %+v", pod.ObjectMeta, box.Status)
	}
}
