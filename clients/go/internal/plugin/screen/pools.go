package screen

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Pools is a table of pools, with what claims and Sandboxes of their namespaces say about them: SIZE is how many Sandboxes are to wait,
// READY how many members are ready, FREE how many of these a claim can have now, USED how many claims of the pool have a Sandbox, WAITING
// how many have none.
func Pools(
	items []extensionsv1beta1.SandboxWarmPool, claims []extensionsv1beta1.SandboxClaim, sandboxes []sandboxv1beta1.Sandbox, now time.Time,
) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: wide(
		columns("Name", "Size", "Ready", "Free", "Used", "Waiting", "Template", "Age"), "Updated", "Strategy", "Progressing")}
	for i := range items {
		p := &items[i]
		used, waiting := countClaims(p, claims)
		progressing := none
		if is := meta.FindStatusCondition(p.Status.Conditions, extensionsv1beta1.ConditionProgressing); is != nil {
			progressing = string(is.Status)
		}
		table.Rows = append(table.Rows, row(p, p.Name, explain.Size(p), countReady(p, sandboxes), p.Status.ReadyReplicas, used, waiting,
			p.Spec.SandboxTemplateRef.Name, age(p.CreationTimestamp, now), p.Status.UpdatedReadyReplicas, string(p.Spec.UpdateStrategy.Type), progressing))
	}
	return table
}

// countReady counts the members that are ready, whether or not a claim can have them: one on a cordoned node it cannot.
func countReady(pool *extensionsv1beta1.SandboxWarmPool, sandboxes []sandboxv1beta1.Sandbox) int {
	ready := 0
	for i := range sandboxes {
		if metav1.IsControlledBy(&sandboxes[i], pool) && meta.IsStatusConditionTrue(sandboxes[i].Status.Conditions, sandboxv1beta1.ConditionReady) {
			ready++
		}
	}
	return ready
}

// countClaims counts the claims of the pool that have a Sandbox, and those that wait for one. Expired ones do neither.
func countClaims(pool *extensionsv1beta1.SandboxWarmPool, claims []extensionsv1beta1.SandboxClaim) (used, waiting int) {
	for i := range claims {
		c := &claims[i]
		ready := meta.FindStatusCondition(c.Status.Conditions, extensionsv1beta1.ConditionReady)
		switch {
		case c.Namespace != pool.Namespace || c.Spec.WarmPoolRef.Name != pool.Name:
		case c.Status.Sandbox.Name != "":
			used++
		case ready == nil || ready.Reason != extensionsv1beta1.ReasonClaimExpired:
			waiting++
		}
	}
	return used, waiting
}
