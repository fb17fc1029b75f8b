package warmpool

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/refusals"
)

const (
	messageProgressing = "The pool has its replicas or comes nearer to them"
	messageUnseen      = "nothing is known of it yet"
)

// progressingCondition says whether the pool comes nearer to its replicas, and what keeps it from it.
func progressingCondition(s seen, limits Limits, d done) metav1.Condition {
	if s.template == nil {
		return noProgress(extensionsv1beta1.ReasonSandboxTemplateError, fmt.Sprintf("SandboxTemplate %q not found", s.pool.Spec.SandboxTemplateRef.Name))
	}
	for _, err := range d.errors {
		switch {
		case refusals.IsOfObject(err):
			return noProgress(extensionsv1beta1.ReasonSandboxTemplateError, err.Error())
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			return noProgress(extensionsv1beta1.ReasonWarmPoolNotProgressing, err.Error())
		}
	}
	for _, member := range s.standing() {
		switch {
		case !isHeld(member):
		case isRefused(member):
			return noProgress(extensionsv1beta1.ReasonSandboxTemplateError, told(member, sandboxv1beta1.ConditionReady))
		case isBlocked(member):
			return noProgress(extensionsv1beta1.ReasonWarmPoolNotProgressing, told(member, sandboxv1beta1.ConditionReady))
		default:
			return noProgress(extensionsv1beta1.ReasonWarmPoolNotProgressing, told(member, sandboxv1beta1.ConditionPodScheduled))
		}
	}
	if s.isStuck(limits) {
		return noProgress(extensionsv1beta1.ReasonWarmPoolNotProgressing, stuckMessage(s))
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: extensionsv1beta1.ReasonWarmPoolProgressing, Message: messageProgressing + closedNote(len(s.closed)) + orphansNote(s.orphans)}
}

// closedNote reports the members that are Ready and serve nobody.
func closedNote(count int) string {
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("; members on nodes that are cordoned, not ready or being emptied, which no claim is given: %d", count)
}

// orphansNote reports the Sandboxes that are ignored.
func orphansNote(orphans []string) string {
	switch len(orphans) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; Sandbox %q has its label and no owner: it is ignored", orphans[0])
	default:
		return fmt.Sprintf("; %d Sandboxes have its label and no owner, %q among them: they are ignored", len(orphans), orphans[0])
	}
}

func noProgress(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// told is what a condition of a member says.
func told(member *sandboxv1beta1.Sandbox, condition string) string {
	if says := meta.FindStatusCondition(member.Status.Conditions, condition); says != nil {
		return fmt.Sprintf("%s: %s", says.Reason, says.Message)
	}
	return messageUnseen
}

// stuckMessage names what the member says that waits longest. Between two generations of members there is none.
func stuckMessage(s seen) string {
	if member := s.longestUnready(); member != nil {
		return "Members do not become Ready: " + told(member, sandboxv1beta1.ConditionReady)
	}
	if was := s.progressing(); was != nil {
		return was.Message
	}
	return "Members do not become Ready"
}

// isStuck says whether members are replaced in vain: one has had its time, in which no other has become Ready, and none has since.
// Where the template has changed, that is tried first.
func (s seen) isStuck(limits Limits) bool {
	ready := 0
	for _, member := range s.standing() {
		switch {
		case isStarted(member):
			ready++
		case !s.isFresh(member):
			return false
		}
	}
	if ready >= s.replicas() {
		return false
	}
	return s.isOutOfTime(limits) || s.wasStuck() && s.lastProgress().Before(s.progressing().LastTransitionTime.Time)
}

// isOutOfTime says whether a member has had its time, in which no other has become Ready.
func (s seen) isOutOfTime(limits Limits) bool {
	member := s.longestUnready()
	return member != nil && s.left(member, limits) <= 0 && s.lastProgress().Before(s.now.Add(-s.grace(limits)))
}

// wasStuck says whether the status tells that the pool does not progress, for a reason that its template is not known for.
func (s seen) wasStuck() bool {
	was := s.progressing()
	return was != nil && was.Status == metav1.ConditionFalse && was.Reason == extensionsv1beta1.ReasonWarmPoolNotProgressing
}

// progressing is that condition as it was told last; nil before.
func (s seen) progressing() *metav1.Condition {
	return meta.FindStatusCondition(s.pool.Status.Conditions, extensionsv1beta1.ConditionProgressing)
}

// lastProgress is when a member that is built from the template as it is now became Ready last, taken by a claim or not; zero when
// none is known that did.
func (s seen) lastProgress() time.Time {
	last := s.arrived
	for _, member := range s.standing() {
		if isStarted(member) && s.isFresh(member) && readySince(member).After(last) {
			last = readySince(member)
		}
	}
	return last
}

// longestUnready is the member that waits longest for its Pod, of those that are not held; nil when none does.
func (s seen) longestUnready() *sandboxv1beta1.Sandbox {
	var longest *sandboxv1beta1.Sandbox
	for _, member := range s.standing() {
		if !isStarted(member) && !isHeld(member) && (longest == nil || unreadySince(member).Before(unreadySince(longest))) {
			longest = member
		}
	}
	return longest
}
