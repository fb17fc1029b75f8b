package warmpool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
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
