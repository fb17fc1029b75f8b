package sandbox

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// A namespace that is going takes neither Pods nor Events: a Sandbox in it tells that in its status, once.
func TestInANamespaceThatGoesNothingIsSentInVain(t *testing.T) {
	w := newWorld(t)
	box := w.create()
	w.waitForReady(box, sandboxv1beta1.ReasonDependenciesReady, "Pod is Ready")
	w.waitForEvents(sandboxv1beta1.EventSandboxReady)
	w.must("deleting the namespace", w.user.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	w.writes.Reset()
	w.must("deleting the Pod", w.user.Delete(context.Background(), w.pod()))
	w.waitForReady(box, sandboxv1beta1.ReasonReconcilerError, "because it is being terminated")
	testkit.Throughout(t, 2*StatusWindow, "little is sent", func() error {
		counts := w.writes.Counts()
		if counts["POST pods"] > 2 || counts["PATCH sandboxes/status"] > 2 || counts["POST events"]+counts["PATCH events"] > 0 {
			return fmt.Errorf("requests: %v", counts)
		}
		return nil
	})
}
