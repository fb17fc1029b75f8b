package sandbox

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// Actions of the Events, as the events API wants them beside the reason.
const (
	actionCreate    = "Create"
	actionSuspend   = "Suspend"
	actionResume    = "Resume"
	actionExpire    = "Expire"
	actionObserve   = "Observe"
	actionReconcile = "Reconcile"
)

// childEvents speak of what was done to children, and of a Sandbox that was deleted.
func childEvents(s seen, p plan, d done) []events.Event {
	switch {
	case d.removed && tellsExpiry(s.sandbox.Status):
		return nil
	case d.removed:
		return []events.Event{events.Normal(sandboxv1beta1.ReasonSandboxExpired, actionExpire, "Sandbox has expired and is deleted")}
	case p.pod.replace != nil && d.pod != nil:
		return []events.Event{events.Warning(sandboxv1beta1.ReasonPodFailed, actionCreate,
			fmt.Sprintf("%s; it was replaced by a new Pod %s", podFailure(s.pod()), d.pod.Name))}
	case p.pod.create != nil && d.pod != nil:
		return []events.Event{events.Normal(sandboxv1beta1.EventSandboxPodCreated, actionCreate,
			fmt.Sprintf("Created Pod %s", d.pod.Name))}
	default:
		return nil
	}
}

// transition is a change of a condition that is worth an Event of its own.
type transition struct {
	kind   string // condition type
	status metav1.ConditionStatus
	reason string // of the condition; empty: any
	event  func(note string) events.Event
}

func transitions() []transition {
	normal := func(reason, action string) func(string) events.Event {
		return func(note string) events.Event { return events.Normal(reason, action, note) }
	}
	warning := func(reason string) func(string) events.Event {
		return func(note string) events.Event { return events.Warning(reason, actionObserve, note) }
	}
	const (
		ready      = sandboxv1beta1.ConditionReady
		scheduled  = sandboxv1beta1.ConditionPodScheduled
		suspended  = sandboxv1beta1.ConditionSuspended
		finished   = sandboxv1beta1.ConditionFinished
		recreating = sandboxv1beta1.ConditionPodRecreating
	)
	return []transition{
		{ready, metav1.ConditionTrue, "", normal(sandboxv1beta1.EventSandboxReady, actionObserve)},
		{ready, metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired, normal(sandboxv1beta1.ReasonSandboxExpired, actionExpire)},
		{ready, metav1.ConditionFalse, sandboxv1beta1.ReasonMultiplePods, warning(sandboxv1beta1.ReasonMultiplePods)},
		{scheduled, metav1.ConditionFalse, corev1.PodReasonUnschedulable, warning(sandboxv1beta1.EventSandboxPodUnschedulable)},
		{scheduled, metav1.ConditionFalse, corev1.PodReasonSchedulingGated, normal(sandboxv1beta1.EventSandboxPodUnschedulable, actionObserve)},
		{recreating, metav1.ConditionTrue, "", warning(sandboxv1beta1.ReasonPodFailed)},
		{suspended, metav1.ConditionTrue, "", normal(sandboxv1beta1.EventSandboxSuspended, actionSuspend)},
		{finished, metav1.ConditionTrue, sandboxv1beta1.ReasonPodSucceeded, normal(sandboxv1beta1.ReasonPodSucceeded, actionObserve)},
		{finished, metav1.ConditionTrue, sandboxv1beta1.ReasonPodFailed, warning(sandboxv1beta1.ReasonPodFailed)},
	}
}

// statusEvents speak of what a status that was just written says for the first time.
func statusEvents(sandbox *sandboxv1beta1.Sandbox, written sandboxv1beta1.SandboxStatus, d done) []events.Event {
	var happened []events.Event
	stored := sandbox.Status
	for _, t := range transitions() {
		if t.reason == sandboxv1beta1.ReasonSandboxExpired && sandbox.DeletionTimestamp != nil {
			continue // That it expired was told when it was deleted.
		}
		is := meta.FindStatusCondition(written.Conditions, t.kind)
		if t.matches(is) && !t.matches(meta.FindStatusCondition(stored.Conditions, t.kind)) {
			happened = append(happened, t.event(noteOf(is, written)))
		}
	}
	if meta.IsStatusConditionTrue(stored.Conditions, sandboxv1beta1.ConditionSuspended) &&
		meta.IsStatusConditionFalse(written.Conditions, sandboxv1beta1.ConditionSuspended) {
		happened = append(happened, events.Normal(sandboxv1beta1.EventSandboxResumed, actionResume, "Sandbox is resumed"))
	}
	switch {
	case readyMessage(stored) == readyMessage(written), isAwaitingOnly(d.errors):
	case d.podError != nil:
		happened = append(happened, events.Warning(sandboxv1beta1.EventSandboxPodCreateFailed, actionCreate, d.podError.Error()))
	case len(d.errors) > 0:
		happened = append(happened, events.Warning(sandboxv1beta1.EventSandboxReconcileFailed, actionReconcile, failureMessage(d.errors)))
	}
	return happened
}

// noteOf is the condition's message; for a Pod that finds no node also that of Ready, which names the cause.
func noteOf(is *metav1.Condition, written sandboxv1beta1.SandboxStatus) string {
	if is.Type == sandboxv1beta1.ConditionPodScheduled {
		return is.Message + " (" + readyMessage(written) + ")"
	}
	return is.Message
}

func (t transition) matches(c *metav1.Condition) bool {
	return c != nil && c.Status == t.status && (t.reason == "" || c.Reason == t.reason)
}

// tellsExpiry says whether a status tells that the Sandbox has expired.
func tellsExpiry(status sandboxv1beta1.SandboxStatus) bool {
	return readyReason(status) == sandboxv1beta1.ReasonSandboxExpired
}

func readyReason(status sandboxv1beta1.SandboxStatus) string {
	if ready := meta.FindStatusCondition(status.Conditions, sandboxv1beta1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

func readyMessage(status sandboxv1beta1.SandboxStatus) string {
	if ready := meta.FindStatusCondition(status.Conditions, sandboxv1beta1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

func finishedReason(status sandboxv1beta1.SandboxStatus) string {
	if finished := meta.FindStatusCondition(status.Conditions, sandboxv1beta1.ConditionFinished); finished != nil {
		return finished.Reason
	}
	return ""
}
