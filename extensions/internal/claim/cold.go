package claim

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// coldStartReason is why the claim gets a Sandbox that is started for it; WarmPoolEmpty says that it may take a member, if there is one.
func coldStartReason(s seen) string {
	need := coldStartNeed(s.claim)
	switch {
	case need != "":
		return need
	case ptr.Deref(s.pool.Spec.Replicas, 1) == 0:
		return extensionsv1beta1.ReasonWarmPoolSizeZero
	default:
		return extensionsv1beta1.ReasonWarmPoolEmpty
	}
}

// coldStartNeed is what the claim asks for that a Pod that runs cannot be given, as a reason; empty for nothing.
func coldStartNeed(claim *extensionsv1beta1.SandboxClaim) string {
	switch {
	case len(claim.Spec.Env) > 0:
		return extensionsv1beta1.ReasonEnvRequested
	case len(claim.Spec.VolumeClaimTemplates) > 0:
		return extensionsv1beta1.ReasonVolumesRequested
	default:
		return ""
	}
}

// coldStartMessage goes on from a reason. It names nothing of the claim, which may have been edited since.
func coldStartMessage(reason string) string {
	switch reason {
	case extensionsv1beta1.ReasonEnvRequested:
		return "the claim sets env, which a Pod that runs already cannot be given"
	case extensionsv1beta1.ReasonVolumesRequested:
		return "the claim asks for volumeClaimTemplates, which a Pod that runs already cannot be given"
	case extensionsv1beta1.ReasonWarmPoolSizeZero:
		return "its SandboxWarmPool was to have 0 replicas"
	default:
		return "its SandboxWarmPool had no Sandbox ready to be taken"
	}
}

// coldStartCondition says why the claim's Sandbox was started for it, as the Sandbox itself tells; nil for one that a pool had.
func coldStartCondition(sandbox *sandboxv1beta1.Sandbox) *metav1.Condition {
	if sandbox == nil {
		return nil
	}
	reason := sandbox.Annotations[extensionsv1beta1.AnnotationColdStartReason]
	if reason == "" {
		return nil
	}
	return &metav1.Condition{
		Type: extensionsv1beta1.ConditionColdStart, Status: metav1.ConditionTrue, Reason: reason,
		Message: fmt.Sprintf("Sandbox %q was started for the claim: %s", sandbox.Name, coldStartMessage(reason)),
	}
}

// provisioned tells of a Sandbox that was started for its claim, and why as far as it is known.
func provisioned(sandbox *sandboxv1beta1.Sandbox) string {
	if why := sandbox.Annotations[extensionsv1beta1.AnnotationColdStartReason]; why != "" {
		return fmt.Sprintf("Started Sandbox %q: %s", sandbox.Name, coldStartMessage(why))
	}
	return fmt.Sprintf("Started Sandbox %q", sandbox.Name)
}
