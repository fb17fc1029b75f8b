package candidates

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// ObserveNode tells the state of a node.
func (c *Candidates) ObserveNode(observed *corev1.Node) {
	c.setNode(observed.Name, nodeOf(observed))
}

// ForgetNode tells that a node is gone. What ran there is about to be deleted.
func (c *Candidates) ForgetNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.onNode[name]) == 0 {
		delete(c.nodes, name)
		return
	}
	c.change(name, node{closed: true, gone: true})
}

func (c *Candidates) setNode(name string, now node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.nodes[name].equals(now) {
		c.change(name, now)
	}
}

// change moves the members on a node in or out, as its new state says. The caller holds the lock.
func (c *Candidates) change(name string, now node) {
	c.nodes[name] = now
	for _, known := range c.onNode[name] {
		c.withdraw(known)
		c.offer(known)
	}
}

func nodeOf(observed *corev1.Node) node {
	now := node{closed: observed.Spec.Unschedulable || !isReady(observed) || observed.DeletionTimestamp != nil}
	for _, taint := range observed.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			now.taints = append(now.taints, taint)
		}
	}
	return now
}

func isReady(observed *corev1.Node) bool {
	for _, condition := range observed.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// admits says whether a Pod on the node may be handed out: the node is neither cordoned nor lost, and about to drive out no Pod
// with these tolerations.
func (n node) admits(tolerations []corev1.Toleration) bool {
	if n.closed {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), n.taints, tolerations, everyTaint, false)
	return !untolerated
}

func everyTaint(*corev1.Taint) bool { return true }

func (n node) equals(other node) bool {
	return n.closed == other.closed && slices.EqualFunc(n.taints, other.taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}
