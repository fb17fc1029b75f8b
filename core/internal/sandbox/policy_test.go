package sandbox

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// denyPods sets up a policy against an operation on Pods, and returns once it is in force, by what try is answered.
func (w world) denyPods(operation admissionregistrationv1.OperationType, try func() error) {
	w.t.Helper()
	testkit.Deny(w.t, w.user, w.namespace, testkit.Operations("pods", operation), "", "no Pods today")
	testkit.Eventually(w.t, "the policy to be in force", func() error {
		if err := try(); err == nil || !strings.Contains(err.Error(), "no Pods today") {
			return fmt.Errorf("it is answered: %w", err)
		}
		return nil
	})
}

// tryPod makes a Pod that is not kept.
func (w world) tryPod() error {
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}}
	probe.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	return w.user.Create(context.Background(), probe, client.DryRunAll)
}

// A Pod that may not be deleted runs on: nothing says that it is on its way out.
func TestARefusedSuspensionIsTold(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready")
	w.denyPods(admissionregistrationv1.Delete, func() error { return w.user.Delete(context.Background(), w.pod(), client.DryRunAll) })
	w.edit(box, suspended)
	w.waitForReady(box, sandboxv1beta1.ReasonReconcilerError, `deleting Pod "box"`)
	if told := lines(box.Status.Conditions)[0]; told != "Suspended=False PodTerminating: Pod could not be deleted. Sandbox is suspending" {
		t.Error(told)
	}
	if len(box.Status.PodIPs) == 0 {
		t.Error("the Pod's addresses are gone")
	}
	testkit.Allow(t, w.user, w.namespace)
	w.waitForReady(box, sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended")
}

func TestConditionsOfOthersAreKept(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready")
	patch := `[{"op":"add","path":"/status/conditions/-","value":` +
		`{"type":"example.com/Scanned","status":"True","reason":"Clean","message":"nothing found","lastTransitionTime":"2026-01-01T00:00:00Z"}}]`
	w.must("adding a condition", w.user.Status().Patch(context.Background(), box, client.RawPatch(types.JSONPatchType, []byte(patch))))
	w.edit(box, suspended)
	w.waitFor(box, suspendedLine, "Ready=False SandboxSuspended: Sandbox is suspended", "example.com/Scanned=True Clean: nothing found")
}

// What the cluster lets others say of a Pod is not fit for a condition, and must not keep the status from being written.
func TestOddWordsOfASchedulerAreMadeFit(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready")
	w.setPodStatus(`{"status":{"conditions":[{"type":"PodScheduled","status":"Maybe","reason":"my scheduler"},{"type":"Ready","status":"False"}]}}`)
	w.waitFor(box, notSuspendedLine, "PodScheduled=Unknown myscheduler: ", "Ready=False DependenciesNotReady: Pod is Running but not Ready")
}

// A Sandbox that is deleted and held back by a finalizer can still be suspended, and expires once.
func TestASandboxThatIsHeldBackIsSuspendedAndExpiresOnce(t *testing.T) {
	w := newWorld(t)
	held := w.create(func(s *sandboxv1beta1.Sandbox) { s.Finalizers = []string{"example.com/hold"} })
	w.t.Cleanup(func() { w.edit(held, func(s *sandboxv1beta1.Sandbox) { s.Finalizers = nil }) })
	w.waitForReady(held, sandboxv1beta1.ReasonDependenciesReady, "")
	w.must("deleting it", w.user.Delete(context.Background(), held.DeepCopy()))
	w.edit(held, suspended)
	w.waitForReady(held, sandboxv1beta1.ReasonSandboxSuspended, "Sandbox is suspended")
	w.edit(held, func(s *sandboxv1beta1.Sandbox) {
		s.Spec.ShutdownPolicy, s.Spec.ShutdownTime = sandboxv1beta1.ShutdownPolicyDelete, &metav1.Time{Time: time.Now().Add(-time.Minute)}
	})
	w.waitForReady(held, sandboxv1beta1.ReasonSandboxExpired, "")
	for name, n := range samples(t, w.metrics) {
		if strings.HasPrefix(name, "agent_sandbox_expired_total") && n > 1 {
			t.Errorf("%s: %v", name, n)
		}
	}
}
