// Package conditions turns the conditions that hold now into those that are stored.
package conditions

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/shared/text"
)

// messageLimit is how long a condition's message may get, in bytes: an eighth of what the API allows, since every
// watcher receives it.
const messageLimit = 4096

const (
	// reasonLimit is how long a reason may get, in bytes, as the API has it.
	reasonLimit = 1024
	// reasonUnfit stands where nothing of a reason is fit to store.
	reasonUnfit = "Unspecified"
)

// Settle returns want, in its order, with LastTransitionTime filled in: the stored one where a condition of that
// type stands with the same status, now elsewhere. A stored condition of one of our types that is not wanted is left out; those
// of other types are somebody else's, and follow as they are. What is copied from other objects is made fit to store: messages are
// cut, reasons and statuses that the API does not take are replaced. One of them would keep the whole status from being written.
func Settle(ours []string, stored, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	settled := make([]metav1.Condition, 0, max(len(want), len(stored)))
	for _, condition := range want {
		condition.LastTransitionTime = now
		condition.Message = text.Cut(condition.Message, messageLimit)
		condition.Reason = fitReason(condition.Reason)
		if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse}, condition.Status) {
			condition.Status = metav1.ConditionUnknown
		}
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

// fitReason leaves out of a reason what the API does not take: it begins with a letter, goes on with letters, digits and _,: and
// does not end with one of the last two.
func fitReason(reason string) string {
	isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	kept := strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_,:", r) {
			return r
		}
		return -1
	}, reason)
	kept = strings.TrimLeftFunc(kept, func(r rune) bool { return !isLetter(r) })
	kept = strings.TrimRight(kept[:min(len(kept), reasonLimit)], ",:")
	return cmp.Or(kept, reasonUnfit)
}
