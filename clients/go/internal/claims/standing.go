package claims

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// State is how far a claim or a Sandbox has come.
type State string

const (
	// Waiting : it may still become ready.
	Waiting State = "waiting"
	// Ready : the Sandbox can be used.
	Ready State = "ready"
	// Suspended : the Sandbox is suspended, and becomes ready once it is resumed.
	Suspended State = "suspended"
	// Failed : it does not become ready.
	Failed State = "failed"
)

// Standing is what the condition Ready says.
type Standing struct {
	// State is what follows from the reason.
	State State
	// Reason and Message are those of the condition; empty before there is one.
	Reason, Message string
}

// String tells it to people.
func (s Standing) String() string {
	switch {
	case s.Reason == "":
		return "no controller has said anything about it yet"
	case s.Message == "":
		return s.Reason
	default:
		return fmt.Sprintf("%s: %s", s.Reason, s.Message)
	}
}

// OfClaim is the standing of a claim. What a condition said about an earlier generation does not count.
func OfClaim(claim *extensionsv1beta1.SandboxClaim) Standing {
	standing := of(claim.Status.Conditions, claim.Generation)
	if standing.State == Ready && claim.Status.Sandbox.Name == "" {
		standing.State = Waiting
	}
	return standing
}

// OfSandbox is the standing of a Sandbox, likewise.
func OfSandbox(sandbox *sandboxv1beta1.Sandbox) Standing {
	return of(sandbox.Status.Conditions, sandbox.Generation)
}

// IsSuspended reports whether the Pod of a suspended Sandbox is gone.
func IsSuspended(sandbox *sandboxv1beta1.Sandbox) bool {
	condition := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionSuspended)
	return condition != nil && condition.Status == metav1.ConditionTrue && !outdated(condition, sandbox.Generation)
}

func of(conditions []metav1.Condition, generation int64) Standing {
	condition := meta.FindStatusCondition(conditions, sandboxv1beta1.ConditionReady)
	if condition == nil || outdated(condition, generation) {
		return Standing{State: Waiting}
	}
	standing := Standing{State: Waiting, Reason: condition.Reason, Message: condition.Message}
	switch {
	case condition.Status == metav1.ConditionTrue:
		standing.State = Ready
	case condition.Reason == sandboxv1beta1.ReasonSandboxSuspended:
		standing.State = Suspended
	case slices.Contains(final(), condition.Reason):
		standing.State = Failed
	}
	return standing
}

// outdated spares conditions of servers that do not observe generations.
func outdated(condition *metav1.Condition, generation int64) bool {
	return condition.ObservedGeneration != 0 && condition.ObservedGeneration < generation
}

// final are the reasons that never pass by themselves.
func final() []string {
	return []string{
		extensionsv1beta1.ReasonInvalidMetadata, extensionsv1beta1.ReasonEnvVarsInjectionRejected,
		extensionsv1beta1.ReasonVolumeClaimTemplatesError, extensionsv1beta1.ReasonClaimExpired, extensionsv1beta1.ReasonSandboxExpired,
		sandboxv1beta1.ReasonInvalidConfiguration,
	}
}
