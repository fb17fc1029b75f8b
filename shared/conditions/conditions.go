// Package conditions turns the conditions that hold now into those that are stored.
package conditions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/shared/text"
)

// messageLimit is how long a condition's message may get, in bytes: an eighth of what the API allows, since every
// watcher receives it.
const messageLimit = 4096

// Settle returns want, in its order, with LastTransitionTime filled in: the stored one where a condition of that
// type stands with the same status, now elsewhere. A stored condition of one of our types that is not wanted is left out; those
// of other types are somebody else's, and follow as they are. Messages are cut to what is fit to store.
func Settle(ours []string, stored, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	settled := make([]metav1.Condition, 0, max(len(want), len(stored)))
	for _, condition := range want {
		condition.LastTransitionTime = now
		condition.Message = text.Cut(condition.Message, messageLimit)
		if old := meta.FindStatusCondition(stored, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		settled = append(settled, condition)
	}
	for i := range stored {
		if !slices.Contains(ours, stored[i].Type) {
			settled = append(settled, stored[i])
		}
	}
	return settled
}
