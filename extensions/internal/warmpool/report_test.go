package warmpool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// What a pool tells of its members; of those that are Ready only such as a claim may be given count.
func TestWhichMembersAreCounted(t *testing.T) {
	type counts struct{ Replicas, Ready, Updated int32 }
	cases := map[string]struct {
		seen seen
		want counts
	}{
		"none (A4.7)":                      {seenOf(poolOf(2)), counts{0, 0, 0}},
		"those that are ready (A4.8)":      {seenOf(poolOf(3), with(member(1), member(2), member(3, unreadyFor(time.Minute)))), counts{3, 2, 2}},
		"of the former template (A4.21)":   {seenOf(poolOf(2), with(member(1), member(2, stale))), counts{2, 2, 1}},
		"on their way out (A4.1)":          {seenOf(poolOf(2), with(member(1), member(2, leaving))), counts{2, 1, 1}},
		"on a closed node":                 {seenOf(poolOf(2), with(member(1), member(2)), closedFor(time.Second, member(2))), counts{2, 1, 1}},
		"without a template none is new":   {seenOf(poolOf(1), with(member(1)), func(s *seen) { s.template = nil }), counts{1, 1, 0}},
		"all of them on a closed node":     {seenOf(poolOf(1), with(member(1)), closedFor(time.Hour, member(1))), counts{1, 0, 0}},
		"on a node that was closed before": {seenOf(poolOf(1), with(member(1)), closedFor(time.Hour, member(7))), counts{1, 1, 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := desiredStatus(tc.seen, testLimits, done{})
			got := counts{status.Replicas, status.ReadyReplicas, status.UpdatedReadyReplicas}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if status.ObservedGeneration != 2 || status.Selector == "" || len(status.Conditions) != 1 || status.Conditions[0].Type != extensionsv1beta1.ConditionProgressing {
				t.Errorf("status %+v", status)
			}
		})
	}
}

// A4.2, A4.21: an Event tells when a pool stops to come nearer to its replicas, and when it does again; not what stays as it is.
func TestWhatEventsTellOfAPool(t *testing.T) {
	says := func(status metav1.ConditionStatus, reason string) extensionsv1beta1.SandboxWarmPoolStatus {
		return extensionsv1beta1.SandboxWarmPoolStatus{Conditions: []metav1.Condition{{
			Type: extensionsv1beta1.ConditionProgressing, Status: status, Reason: reason, Message: "because",
		}}}
	}
	const stopped, goes = extensionsv1beta1.ReasonWarmPoolNotProgressing, extensionsv1beta1.ReasonWarmPoolProgressing
	yes, no := says(metav1.ConditionTrue, goes), says(metav1.ConditionFalse, stopped)
	cases := map[string]struct {
		before, after extensionsv1beta1.SandboxWarmPoolStatus
		want          []events.Event
	}{
		"it begins well":             {extensionsv1beta1.SandboxWarmPoolStatus{}, yes, nil},
		"it begins badly":            {extensionsv1beta1.SandboxWarmPoolStatus{}, no, []events.Event{events.Warning(stopped, "Fill", "because")}},
		"it stops":                   {yes, no, []events.Event{events.Warning(stopped, "Fill", "because")}},
		"it goes on":                 {no, yes, []events.Event{events.Normal(goes, "Fill", "because")}},
		"it is as before":            {yes, yes, nil},
		"it is stopped as before":    {no, no, nil},
		"it is for another reason":   {no, says(metav1.ConditionFalse, extensionsv1beta1.ReasonSandboxTemplateError), nil},
		"its template comes at last": {says(metav1.ConditionFalse, extensionsv1beta1.ReasonSandboxTemplateError), yes, []events.Event{events.Normal(goes, "Fill", "because")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, statusEvents(tc.before, tc.after)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}
