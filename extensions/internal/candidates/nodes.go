package candidates

import (
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// ObserveNode tells the state of a node.
func (c *Candidates) ObserveNode(observed *corev1.Node) {
	c.setNode(observed.Name, nodeOf(observed))
}

// ForgetNode tells that a node is gone. What ran there is about to be deleted.
func (c *Candidates) ForgetNode(name string) {
	c.setNode(name, node{closed: true, gone: true})
}

// OnNodes registers who is told the pools of which members can be taken no more, or again, since a node has changed. There is one
// at a time.
func (c *Candidates) OnNodes(tell func(pools []types.NamespacedName)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onNodes = tell
}

// Admits says whether a Pod with these tolerations may be handed out as far as its node goes.
func (c *Candidates) Admits(name string, tolerations []corev1.Toleration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name].admits(tolerations)
}

func (c *Candidates) setNode(name string, now node) {
	if pools, tell := c.replaceNode(name, now); len(pools) > 0 {
		tell(pools)
	}
}

// replaceNode returns the pools to which it matters and who is to be told of them, once the lock is no longer held.
func (c *Candidates) replaceNode(name string, now node) ([]types.NamespacedName, func([]types.NamespacedName)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.gone && len(c.onNode[name]) == 0 {
		delete(c.nodes, name)
		return nil, nil
	}
	if c.nodes[name].equals(now) {
		return nil, nil
	}
	return c.change(name, now), c.onNodes
}

// change moves the members on a node in or out, as its new state says, and returns the pools of those. The caller holds the lock.
func (c *Candidates) change(name string, now node) []types.NamespacedName {
	before := c.nodes[name]
	c.nodes[name] = now
	pools := map[types.NamespacedName]bool{}
	for _, known := range c.onNode[name] {
		c.withdraw(known)
		c.offer(known)
		if before.admits(known.Tolerations) != now.admits(known.Tolerations) {
			pools[types.NamespacedName{Namespace: known.Key.Namespace, Name: known.PoolName}] = true
		}
	}
	return slices.Collect(maps.Keys(pools))
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
	return n.closed == other.closed && n.gone == other.gone && slices.EqualFunc(n.taints, other.taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}
