package claim

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/conditions"
)

// Messages of the condition Ready.
const (
	messageExpired        = "Claim expired. Sandbox cleanup initiated."
	messageMissing        = "Sandbox does not exist"
	messageNotReady       = "Sandbox is not ready"
	messageSandboxExpired = "Underlying Sandbox resource has expired independently of the Claim."
)

func notReady(reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// readyCondition is that of the claim's Sandbox, where it has one.
func readyCondition(s seen, d done, sandbox *sandboxv1beta1.Sandbox) *metav1.Condition {
	var refused refusal
	err := errors.Join(d.errors...)
	switch {
	case s.expired():
		return notReady(extensionsv1beta1.ReasonClaimExpired, messageExpired)
	case sandbox != nil:
		return mirrored(sandbox)
	case errors.As(err, &refused):
		return notReady(refused.reason, refused.message)
	case err != nil:
		return notReady(extensionsv1beta1.ReasonReconcilerError, "Error seen: "+err.Error())
	default:
		return notReady(extensionsv1beta1.ReasonSandboxMissing, messageMissing)
	}
}

func mirrored(sandbox *sandboxv1beta1.Sandbox) *metav1.Condition {
	ready := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionReady)
	switch {
	case ready == nil, sandbox.DeletionTimestamp != nil:
		return notReady(extensionsv1beta1.ReasonSandboxNotReady, messageNotReady)
	case ready.Reason == sandboxv1beta1.ReasonSandboxExpired:
		return notReady(extensionsv1beta1.ReasonSandboxExpired, messageSandboxExpired)
	}
	return &metav1.Condition{
		Type: extensionsv1beta1.ConditionReady, Status: ready.Status,
		Reason: cmp.Or(ready.Reason, extensionsv1beta1.ReasonSandboxNotReady), Message: ready.Message,
	}
}

// finishedCondition is that of the claim's Sandbox. It outlives the Sandbox once the claim has expired.
func finishedCondition(s seen, sandbox *sandboxv1beta1.Sandbox) *metav1.Condition {
	if sandbox == nil {
		if s.expired() {
			return meta.FindStatusCondition(s.claim.Status.Conditions, extensionsv1beta1.ConditionFinished)
		}
		return nil
	}
	finished := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionFinished)
	if finished == nil {
		return nil
	}
	return &metav1.Condition{
		Type: extensionsv1beta1.ConditionFinished, Status: finished.Status, Reason: finished.Reason, Message: finished.Message,
	}
}

// ownConditions are the types that this controller writes; the others in a status are somebody else's.
func ownConditions() []string {
	return []string{extensionsv1beta1.ConditionReady, extensionsv1beta1.ConditionFinished, extensionsv1beta1.ConditionColdStart}
}

func claimConditions(s seen, d done, sandbox *sandboxv1beta1.Sandbox) []metav1.Condition {
	var all []metav1.Condition
	for _, current := range []*metav1.Condition{readyCondition(s, d, sandbox), finishedCondition(s, sandbox), coldStartCondition(sandbox)} {
		if current != nil {
			kept := *current
			kept.ObservedGeneration = s.claim.Generation
			all = append(all, kept)
		}
	}
	return conditions.Settle(ownConditions(), s.claim.Status.Conditions, all, metav1.NewTime(s.now))
}
