package conditions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSettleCutsMessages(t *testing.T) {
	want := []metav1.Condition{{Type: "Ready", Message: strings.Repeat("x", 40000)}}
	if got := Settle(nil, nil, want, metav1.Now())[0].Message; len(got) != messageLimit {
		t.Errorf("%d bytes are stored", len(got))
	}
}

func TestSettle(t *testing.T) {
	then := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	now := metav1.NewTime(then.Add(time.Minute))
	foreign := metav1.Condition{Type: "example.com/Scanned", Status: metav1.ConditionTrue, Message: strings.Repeat("x", 5000), LastTransitionTime: then}
	stored := []metav1.Condition{
		{Type: "Gone", Status: metav1.ConditionTrue, LastTransitionTime: then},
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Old", LastTransitionTime: then},
		foreign,
	}
	cases := map[string]struct{ want, settled []metav1.Condition }{
		"the same status keeps its time, with the new reason": {
			want:    []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "New"}},
			settled: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "New", LastTransitionTime: then}, foreign},
		},
		"another status moves it": {
			want:    []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "New"}},
			settled: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "New", LastTransitionTime: now}, foreign},
		},
		"a new condition starts now, in the order asked for": {
			want: []metav1.Condition{{Type: "New", Status: metav1.ConditionTrue, Reason: "New"}, {Type: "Ready", Status: metav1.ConditionFalse, Reason: "New"}},
			settled: []metav1.Condition{
				{Type: "New", Status: metav1.ConditionTrue, Reason: "New", LastTransitionTime: now},
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: "New", LastTransitionTime: then},
				foreign,
			},
		},
		"nothing wanted leaves nothing but what is another's": {want: nil, settled: []metav1.Condition{foreign}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.settled, Settle([]string{"Gone", "New", "Ready"}, stored, tc.want, now)); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettleMakesFitWhatOthersSaid(t *testing.T) {
	for said, want := range map[string]string{
		"Scheduled": "Scheduled", "my scheduler": "myscheduler", "9lives": "lives", "Ends:,": "Ends", "a_b,c:d9": "a_b,c:d9",
		"": "Unspecified", "§": "Unspecified", "123": "Unspecified", strings.Repeat("x", 3000): strings.Repeat("x", 1024),
	} {
		for status, fit := range map[metav1.ConditionStatus]metav1.ConditionStatus{"True": "True", "False": "False", "Unknown": "Unknown", "Maybe": "Unknown", "": "Unknown"} {
			got := Settle(nil, nil, []metav1.Condition{{Type: "Ready", Status: status, Reason: said}}, metav1.Now())[0]
			if got.Reason != want || got.Status != fit {
				t.Errorf("%.20q and %q are stored as %.20q and %q", said, status, got.Reason, got.Status)
			}
		}
	}
}
