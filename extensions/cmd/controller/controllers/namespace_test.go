package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// A namespace that is going takes neither Sandboxes nor Events: pool and claim tell that in their status, and try no more.
func TestInANamespaceThatGoesNothingIsSentInVain(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 1)
	w.filled(pool)
	claim := w.claim("claim")
	w.bound(claim)
	w.filled(pool)
	ctx := context.Background()
	w.must("deleting the namespace", w.user.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	w.writes.Reset()
	w.must("deleting the Sandboxes", w.user.DeleteAllOf(ctx, &sandboxv1beta1.Sandbox{}, client.InNamespace(w.namespace)))
	w.waitReady(claim, metav1.ConditionFalse, extensionsv1beta1.ReasonReconcilerError)
	testkit.Throughout(t, 3*time.Second, "little is sent", func() error {
		counts := w.writes.Counts()
		if counts["POST sandboxes"] > 4 || counts["POST events"]+counts["PATCH events"] > 0 {
			return fmt.Errorf("requests: %v", counts)
		}
		return nil
	})
	t.Logf("requests: %v", w.writes.Counts())
}
