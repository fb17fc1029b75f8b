package sandbox

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

func TestStatusEventsTellWhatIsNew(t *testing.T) {
	status := func(conditions ...metav1.Condition) sandboxv1beta1.SandboxStatus {
		return sandboxv1beta1.SandboxStatus{Conditions: conditions}
	}
	is := func(kind string, value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason, Message: message}
	}
	ready := is("Ready", metav1.ConditionTrue, "DependenciesReady", "Pod is Ready")
	waiting := is("Ready", metav1.ConditionFalse, "DependenciesNotReady", "Pod does not exist")
	failed := is("Ready", metav1.ConditionFalse, "ReconcilerError", "Error seen: boom")
	gone := is("Suspended", metav1.ConditionTrue, "PodTerminated", "gone")
	notSuspended := is("Suspended", metav1.ConditionFalse, "NotSuspended", "")
	cases := map[string]struct {
		stored, written sandboxv1beta1.SandboxStatus
		podError        error
		errors          []error
		want            []events.Event
	}{
		"it became Ready":              {stored: status(waiting), written: status(ready), want: []events.Event{events.Normal("SandboxReady", "Observe", "Pod is Ready")}},
		"it was Ready before":          {stored: status(ready), written: status(ready)},
		"it became suspended":          {stored: status(notSuspended), written: status(gone), want: []events.Event{events.Normal("SandboxSuspended", "Suspend", "gone")}},
		"it was resumed":               {stored: status(gone), written: status(notSuspended), want: []events.Event{events.Normal("SandboxResumed", "Resume", "Sandbox is resumed")}},
		"it started, not resumed":      {written: status(notSuspended)},
		"it expired":                   {stored: status(ready), written: status(is("Ready", metav1.ConditionFalse, "SandboxExpired", "Sandbox has expired")), want: []events.Event{events.Normal("SandboxExpired", "Expire", "Sandbox has expired")}},
		"it has two Pods":              {stored: status(ready), written: status(is("Ready", metav1.ConditionFalse, "MultiplePods", "two")), want: []events.Event{events.Warning("MultiplePods", "Observe", "two")}},
		"its Pod failed":               {written: status(is("Finished", metav1.ConditionTrue, "PodFailed", "Pod failed")), want: []events.Event{events.Warning("PodFailed", "Observe", "Pod failed")}},
		"its Pod succeeded":            {written: status(is("Finished", metav1.ConditionTrue, "PodSucceeded", "done")), want: []events.Event{events.Normal("PodSucceeded", "Observe", "done")}},
		"its Pod was refused":          {stored: status(waiting), written: status(failed), podError: errors.New("boom"), want: []events.Event{events.Warning("SandboxPodCreateFailed", "Create", "boom")}},
		"its Service was refused":      {stored: status(waiting), written: status(failed), errors: []error{errors.New("boom")}, want: []events.Event{events.Warning("SandboxReconcileFailed", "Reconcile", "Error seen: boom")}},
		"it awaits its old disk's end": {stored: status(waiting), written: status(is("Ready", metav1.ConditionFalse, "DependenciesNotReady", "going")), podError: leavingClaim("data-box"), errors: []error{leavingClaim("data-box")}},
		"and is refused again":         {stored: status(failed), written: status(failed, notSuspended), podError: errors.New("boom")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, statusEvents(sandboxWith(func(s *sandboxv1beta1.Sandbox) { s.Status = tc.stored }), tc.written, done{podError: tc.podError, errors: tc.errors})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChildEventsComeAfterTheWrite(t *testing.T) {
	pod := runningPod()
	cases := map[string]struct {
		plan plan
		done done
		want []events.Event
	}{
		"a Pod was made":            {plan{pod: podAction{create: pod}}, done{pod: pod}, []events.Event{events.Normal("SandboxPodCreated", "Create", "Created Pod box")}},
		"a failed Pod was replaced": {plan{pod: podAction{replace: &target{}, create: pod}}, done{pod: pod}, []events.Event{events.Warning("PodFailed", "Create", "Pod failed; it was replaced by a new Pod box")}},
		"a Pod could not be made":   {plan{pod: podAction{create: pod}}, done{podError: errors.New("boom")}, nil},
		"a Pod was patched":         {plan{pod: podAction{patch: &metadataPatch{}}}, done{pod: pod}, nil},
		"the Sandbox was deleted":   {plan{remove: &target{}}, done{removed: true}, []events.Event{events.Normal("SandboxExpired", "Expire", "Sandbox has expired and is deleted")}},
		"the Sandbox changed first": {plan{remove: &target{}}, done{outdated: true}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, childEvents(seenWith(sandboxWith(), withPods(runningPod(phase(corev1.PodFailed)))), tc.plan, tc.done)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
