package sandbox

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// milestone is a step in the life of a Sandbox that is counted.
type milestone int

const (
	becameReady milestone = iota
	suspendRequested
	suspendFailed
	podTerminated
	resumeRequested
	resumeFailed
	expired
	finished
)

// milestones are what a status that was just written says for the first time.
func milestones(stored, written sandboxv1beta1.SandboxStatus) []milestone {
	isReady := func(status sandboxv1beta1.SandboxStatus) bool {
		return meta.IsStatusConditionTrue(status.Conditions, sandboxv1beta1.ConditionReady)
	}
	isFinished := func(status sandboxv1beta1.SandboxStatus) bool {
		return meta.IsStatusConditionTrue(status.Conditions, sandboxv1beta1.ConditionFinished)
	}
	reached := modeMilestones(stored, written)
	for _, step := range []struct {
		milestone milestone
		is        func(sandboxv1beta1.SandboxStatus) bool
	}{{becameReady, isReady}, {expired, tellsExpiry}, {finished, isFinished}} {
		if step.is(written) && !step.is(stored) {
			reached = append(reached, step.milestone)
		}
	}
	return reached
}

// modeMilestones are those of suspending and resuming. A Sandbox that was born suspended has not been suspended.
func modeMilestones(stored, written sandboxv1beta1.SandboxStatus) []milestone {
	before := meta.FindStatusCondition(stored.Conditions, sandboxv1beta1.ConditionSuspended)
	after := meta.FindStatusCondition(written.Conditions, sandboxv1beta1.ConditionSuspended)
	if before == nil || after == nil {
		return nil
	}
	var reached []milestone
	wasRunning, isRunning := before.Reason == sandboxv1beta1.ReasonNotSuspended, after.Reason == sandboxv1beta1.ReasonNotSuspended
	newFailure := isFailure(readyReason(written)) && readyReason(written) != readyReason(stored)
	switch {
	case wasRunning && !isRunning:
		reached = append(reached, suspendRequested)
	case !wasRunning && isRunning:
		reached = append(reached, resumeRequested)
	}
	switch {
	case after.Status == metav1.ConditionTrue && before.Status != metav1.ConditionTrue:
		reached = append(reached, podTerminated)
	case newFailure && isRunning:
		reached = append(reached, resumeFailed)
	case newFailure:
		reached = append(reached, suspendFailed)
	}
	return reached
}

// isFailure says whether a reason of Ready is that of an error.
func isFailure(reason string) bool {
	switch reason {
	case sandboxv1beta1.ReasonReconcilerError, sandboxv1beta1.ReasonInvalidConfiguration,
		sandboxv1beta1.ReasonQuotaExceeded, sandboxv1beta1.ReasonRuntimeClassNotFound:
		return true
	default:
		return false
	}
}

// stage is what a Sandbox is in the middle of.
type stage int

const (
	settled stage = iota
	starting
	suspending
	resuming
)

// stageOf tells it from a stored status, and since when. LastTransitionTime has whole seconds: a Sandbox that became ready and
// unready within the second of its first status looks as if it were starting still.
func stageOf(sandbox *sandboxv1beta1.Sandbox) (stage, metav1.Time) {
	ready := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionReady)
	mode := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionSuspended)
	switch {
	case ready == nil || mode == nil:
		return starting, sandbox.CreationTimestamp
	case ready.Status == metav1.ConditionTrue || mode.Status == metav1.ConditionTrue || ready.Reason == sandboxv1beta1.ReasonSandboxExpired:
		return settled, metav1.Time{}
	case mode.Reason != sandboxv1beta1.ReasonNotSuspended:
		return suspending, ready.LastTransitionTime
	case ready.LastTransitionTime.Equal(&mode.LastTransitionTime):
		return starting, sandbox.CreationTimestamp
	case ready.LastTransitionTime.Before(&mode.LastTransitionTime):
		return resuming, mode.LastTransitionTime
	default:
		return settled, metav1.Time{}
	}
}
