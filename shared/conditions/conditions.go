// Package conditions turns the conditions that hold now into those that are stored.
package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/shared/text"
)

// messageLimit is how long a condition's message may get, in bytes: an eighth of what the API allows, since every
// watcher receives it.
const messageLimit = 4096

// Settle returns want, in its order, with LastTransitionTime filled in: the stored one where a condition of that
// type stands with the same status, now elsewhere. A stored condition that is not wanted is left out.
// Messages are cut to what is fit to store.
func Settle(stored, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	settled := make([]metav1.Condition, 0, len(want))
	for _, condition := range want {
		condition.LastTransitionTime = now
		condition.Message = text.Cut(condition.Message, messageLimit)
		if old := meta.FindStatusCondition(stored, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		settled = append(settled, condition)
	}
	return settled
}
