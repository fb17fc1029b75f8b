package sandbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// told is a condition of that reason, since so many seconds after testNow.
func told(kind string, status metav1.ConditionStatus, reason string, since int) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(testNow.Add(time.Duration(since) * time.Second))}
}

func statusOf(conditions ...metav1.Condition) sandboxv1beta1.SandboxStatus {
	return sandboxv1beta1.SandboxStatus{Conditions: conditions}
}

func TestMilestones(t *testing.T) {
	up := told("Ready", metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady, 0)
	waits := told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady, 0)
	blocked := told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonQuotaExceeded, 0)
	broken := told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonReconcilerError, 0)
	over := told("Ready", metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired, 0)
	runs := told("Suspended", metav1.ConditionFalse, sandboxv1beta1.ReasonNotSuspended, 0)
	leaves := told("Suspended", metav1.ConditionFalse, sandboxv1beta1.ReasonPodTerminating, 0)
	gone := told("Suspended", metav1.ConditionTrue, sandboxv1beta1.ReasonPodTerminated, 0)
	done := told("Finished", metav1.ConditionTrue, sandboxv1beta1.ReasonPodSucceeded, 0)
	cases := map[string]struct {
		stored, written sandboxv1beta1.SandboxStatus
		want            []milestone
	}{
		"a Sandbox starts":                    {statusOf(), statusOf(runs, up), []milestone{becameReady}},
		"it is told nothing new":              {statusOf(runs, up), statusOf(runs, up), nil},
		"it is to be suspended":               {statusOf(runs, up), statusOf(leaves, waits), []milestone{suspendRequested}},
		"its Pod is gone":                     {statusOf(leaves, waits), statusOf(gone, waits), []milestone{podTerminated}},
		"both in one status":                  {statusOf(runs, up), statusOf(gone, waits), []milestone{suspendRequested, podTerminated}},
		"its Pod cannot be deleted":           {statusOf(leaves, waits), statusOf(leaves, broken), []milestone{suspendFailed}},
		"nor can it a moment later":           {statusOf(leaves, broken), statusOf(leaves, broken), nil},
		"it is resumed":                       {statusOf(gone, waits), statusOf(runs, waits), []milestone{resumeRequested}},
		"it is resumed and ready at once":     {statusOf(gone, waits), statusOf(runs, up), []milestone{resumeRequested, becameReady}},
		"it is resumed into a quota":          {statusOf(gone, waits), statusOf(runs, blocked), []milestone{resumeRequested, resumeFailed}},
		"a Sandbox is born suspended":         {statusOf(), statusOf(gone, waits), nil},
		"it expires":                          {statusOf(runs, up), statusOf(runs, over), []milestone{expired}},
		"it ends":                             {statusOf(runs, up), statusOf(runs, waits, done), []milestone{finished}},
		"it has ended before":                 {statusOf(runs, waits, done), statusOf(runs, over, done), []milestone{expired}},
		"suspended before its Pod was seen":   {statusOf(runs, waits), statusOf(gone, waits), []milestone{suspendRequested, podTerminated}},
		"resumed before its old Pod was gone": {statusOf(leaves, waits), statusOf(runs, waits), []milestone{resumeRequested}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, milestones(tc.stored, tc.written)); diff != "" {
				t.Errorf("milestones (-want +got):\n%s", diff)
			}
		})
	}
}

// What a controller that has just started makes of what its predecessor left.
func TestStageOf(t *testing.T) {
	with := func(conditions ...metav1.Condition) *sandboxv1beta1.Sandbox {
		return sandboxWith(func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions = conditions })
	}
	ready := func(status metav1.ConditionStatus, reason string, since int) metav1.Condition {
		return told("Ready", status, reason, since)
	}
	notReady, notSuspended := sandboxv1beta1.ReasonDependenciesNotReady, sandboxv1beta1.ReasonNotSuspended
	cases := map[string]struct {
		sandbox *sandboxv1beta1.Sandbox
		want    stage
		since   int
	}{
		"nothing is told yet":           {with(), starting, -60},
		"never ready":                   {with(ready(metav1.ConditionFalse, notReady, 1), told("Suspended", metav1.ConditionFalse, notSuspended, 1)), starting, -60},
		"ready":                         {with(ready(metav1.ConditionTrue, "", 3), told("Suspended", metav1.ConditionFalse, notSuspended, 1)), settled, 0},
		"no longer ready":               {with(ready(metav1.ConditionFalse, notReady, 5), told("Suspended", metav1.ConditionFalse, notSuspended, 1)), settled, 0},
		"on its way into suspension":    {with(ready(metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxSuspended, 6), told("Suspended", metav1.ConditionFalse, sandboxv1beta1.ReasonPodTerminating, 1)), suspending, 6},
		"suspended":                     {with(ready(metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxSuspended, 6), told("Suspended", metav1.ConditionTrue, "", 7)), settled, 0},
		"on its way back":               {with(ready(metav1.ConditionFalse, notReady, 6), told("Suspended", metav1.ConditionFalse, notSuspended, 9)), resuming, 9},
		"expired before it ever was up": {with(ready(metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired, 1), told("Suspended", metav1.ConditionFalse, notSuspended, 1)), settled, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.sandbox.CreationTimestamp = metav1.NewTime(testNow.Add(-time.Minute))
			got, since := stageOf(tc.sandbox)
			if got != tc.want || got != settled && !since.Time.Equal(testNow.Add(time.Duration(tc.since)*time.Second)) {
				t.Errorf("stage %v since %v", got, since)
			}
		})
	}
}
