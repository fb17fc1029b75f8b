package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func uncordoned(n *corev1.Node) { n.Spec.Unschedulable = false }

// node makes the node that all Sandboxes are on, ready but for changes. It goes with the test.
func (w world) node(modify ...func(*corev1.Node)) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	for _, change := range modify {
		change(node)
	}
	w.must("making a node", w.user.Create(context.Background(), node))
	w.t.Cleanup(func() { w.must("deleting the node", w.user.Delete(context.Background(), node)) })
	w.hearFrom(node, corev1.ConditionTrue)
	return node
}

// hearFrom lets the kubelet of a node tell that it is ready, or not.
func (w world) hearFrom(node *corev1.Node, ready corev1.ConditionStatus) {
	w.t.Helper()
	before := node.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "Told", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	w.must("telling of a node", w.user.Status().Patch(context.Background(), node, client.MergeFrom(before)))
}

// counts waits until a pool says to have so many members that are Ready, of those that it wants.
func (w world) counts(pool *extensionsv1beta1.SandboxWarmPool, ready int32) {
	w.t.Helper()
	testkit.Eventually(w.t, fmt.Sprintf("%d members are ready", ready), func() error {
		w.get(pool)
		if pool.Status.Replicas != *pool.Spec.Replicas || pool.Status.ReadyReplicas != ready || pool.Status.UpdatedReadyReplicas != ready {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
}

func (w world) uids(pool *extensionsv1beta1.SandboxWarmPool) map[types.UID]bool {
	w.t.Helper()
	uids := map[types.UID]bool{}
	for _, member := range w.members(pool) {
		uids[member.UID] = true
	}
	return uids
}

// Members count as ready while their node lets them be handed out, and are told anew as soon as that changes: by the node's
// event, not by that of a member.
func TestMembersOnAClosedNodeDoNotCount(t *testing.T) {
	w := newWorld(t)
	node := w.node()
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 3)
	w.filled(pool)
	before := w.uids(pool)
	edit(w, node, cordoned)
	w.counts(pool, 0)
	if told := meta.FindStatusCondition(pool.Status.Conditions, extensionsv1beta1.ConditionProgressing); !strings.Contains(told.Message, "no claim is given: 3") {
		t.Errorf("Progressing says %q", told.Message)
	}
	edit(w, node, uncordoned)
	w.counts(pool, 3)
	w.hearFrom(node, corev1.ConditionUnknown)
	w.counts(pool, 0)
	w.hearFrom(node, corev1.ConditionTrue)
	w.counts(pool, 3)
	for uid := range w.uids(pool) {
		if !before[uid] {
			t.Errorf("member %s is another", uid)
		}
	}
}

// A node that stays cordoned keeps no place in the pool: its members are made anew.
func TestMembersOnANodeThatStaysClosedAreReplaced(t *testing.T) {
	w := newWorld(t)
	node := w.node()
	settings := testSettings()
	settings.Grace = 3 * time.Second
	w.startControllers(settings)
	w.template("agent")
	pool := w.pool("pool", 2)
	w.filled(pool)
	before := w.uids(pool)
	closed := time.Now()
	edit(w, node, cordoned)
	testkit.Eventually(t, "all members are others", func() error {
		left := 0
		for uid := range w.uids(pool) {
			if before[uid] {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
	if waited := time.Since(closed); waited < settings.Grace {
		t.Errorf("they were replaced after %v", waited)
	}
}
