// Package conditions turns the conditions that hold now into those that are stored.
package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Settle returns want, in its order, with LastTransitionTime filled in: the stored one where a condition of that
// type stands with the same status, now elsewhere. A stored condition that is not wanted is left out.
func Settle(stored, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	settled := make([]metav1.Condition, 0, len(want))
	for _, condition := range want {
		condition.LastTransitionTime = now
		if old := meta.FindStatusCondition(stored, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		settled = append(settled, condition)
	}
	return settled
}
