package integration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// expired wants a Sandbox that says it has expired.
func expired() await.Want[*sandboxv1beta1.Sandbox] {
	return await.Condition(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired)
}

func TestRenderedRoleSufficesForAWholeLife(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	controller, book := startController(t)
	namespace := testkit.Namespace(t, user)
	sandbox := fixture.Sandbox(namespace, "box", fixture.WithService, fixture.WithDisk)
	fixture.Create(t, user, sandbox)

	ready := fixture.Must(t, user, sandbox, await.Ready())
	want := sandboxv1beta1.SandboxStatus{
		Service: "box", ServiceFQDN: "box." + namespace + ".svc.cluster.local",
		NodeName: "node-1", PodIPs: ready.Status.PodIPs, LabelSelector: ready.Status.LabelSelector, Conditions: ready.Status.Conditions,
	}
	if diff := cmp.Diff(want, ready.Status); diff != "" || len(ready.Status.PodIPs) != 1 {
		t.Errorf("status (-want +got):\n%s\nIPs %v", diff, ready.Status.PodIPs)
	}
	pod, claim, service := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{}
	pod.ObjectMeta, claim.ObjectMeta, service.ObjectMeta = fixture.Named(namespace, "box"), fixture.Named(namespace, "data-box"), fixture.Named(namespace, "box")
	firstPod := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]())
	disk := fixture.Must(t, user, claim, await.Exists[*corev1.PersistentVolumeClaim]())

	fixture.MustEdit(t, user, sandbox, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended))
	fixture.Must(t, user, sandbox, await.Suspended())
	fixture.MustBeGone(t, user, pod)
	fixture.Must(t, user, service, await.Exists[*corev1.Service]())

	fixture.MustEdit(t, user, sandbox, fixture.WithMode(sandboxv1beta1.OperatingModeRunning))
	fixture.Must(t, user, sandbox, await.Ready())
	if again := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]()); again.UID == firstPod.UID {
		t.Error("the Pod after the resume is the one from before")
	}
	if again := fixture.Must(t, user, claim, await.Exists[*corev1.PersistentVolumeClaim]()); again.UID != disk.UID {
		t.Errorf("the PVC after the resume has UID %s, before %s", again.UID, disk.UID)
	}

	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) {
		s.Spec.ShutdownTime = ptr.To(metav1.NewTime(time.Now().Add(-time.Second)))
	})
	fixture.Must(t, user, sandbox, expired())
	fixture.MustBeGone(t, user, pod)
	fixture.MustBeGone(t, user, service)
	fixture.Must(t, user, claim, await.Exists[*corev1.PersistentVolumeClaim]())

	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.ShutdownPolicy = sandboxv1beta1.ShutdownPolicyDelete })
	fixture.MustBeGone(t, user, sandbox)
	stopController(t, controller)
	checkLog(t, book)
}

// checkLog finds whatever says that the role was too narrow, or that something failed.
func checkLog(t *testing.T, book *logBook) {
	t.Helper()
	lines := book.lines()
	if !strings.Contains(book.String(), acquired) {
		t.Error("the log does not say that the Lease was acquired: is it the controller's?")
	}
	for _, line := range lines {
		if endsAnyway(line) {
			continue
		}
		for _, bad := range []string{"orbidden", `"level":"error"`, "cannot ", "DATA RACE", "panic"} {
			if strings.Contains(line, bad) {
				t.Errorf("the controller's log says: %s", line)
			}
		}
	}
}

// endsAnyway says whether a line tells of what a controller that was asked to stop gives up: its Lease, which
// controller-runtime calls lost, and requests under way. A reconcile that it breaks off is no error.
func endsAnyway(line string) bool {
	return strings.HasSuffix(line, "}") && !strings.Contains(line, `"msg":"Reconciler error"`) &&
		(strings.Contains(line, `"error":"leader election lost"`) || strings.Contains(line, `context canceled"`))
}

// A8.8.
func TestEventsReachTheUserUnderTheRenderedRole(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	namespace := testkit.Namespace(t, user)
	sandbox := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	for _, reason := range []string{sandboxv1beta1.EventSandboxPodCreated, sandboxv1beta1.EventSandboxReady} {
		testkit.Eventually(t, "Event "+reason, func() error {
			output, err := kubectl(t, "", "-n", namespace, "describe", "sandbox", "box")
			if err == nil && !strings.Contains(output, " "+reason+" ") {
				err = fmt.Errorf("kubectl describe says only\n%s", output)
			}
			return err
		})
	}
}
