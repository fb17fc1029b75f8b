package podmeta

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/shared/apply"
)

var rules = Rules{
	Reserved:       func(key string) bool { return strings.HasPrefix(key, "sys/") },
	LabelsKey:      "sys/labels",
	AnnotationsKey: "sys/annotations",
}

func TestDesired(t *testing.T) {
	cases := map[string]struct{ template, system, want Metadata }{
		"the template's keys, their lists, and the system's last": {
			template: Metadata{
				Labels:      map[string]string{"b": "1", "a": "2", "sys/hash": "forged"},
				Annotations: map[string]string{"c": "3", "sys/labels": "forged"},
			},
			system: Metadata{Labels: map[string]string{"sys/hash": "real"}, Annotations: map[string]string{"sys/spec": "h"}},
			want: Metadata{
				Labels:      map[string]string{"a": "2", "b": "1", "sys/hash": "real"},
				Annotations: map[string]string{"c": "3", "sys/labels": "a,b", "sys/annotations": "c", "sys/spec": "h"},
			},
		},
		"nothing in the template leaves no lists": {
			system: Metadata{Labels: map[string]string{"sys/hash": "real"}},
			want:   Metadata{Labels: map[string]string{"sys/hash": "real"}, Annotations: map[string]string{}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, rules.Desired(tc.template, tc.system)); diff != "" {
				t.Errorf("Desired (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChange(t *testing.T) {
	living := Metadata{
		Labels:      map[string]string{"kept": "1", "dropped": "1", "foreign": "x", "sys/hash": "real", "sys/old": "stale"},
		Annotations: map[string]string{"sys/labels": "dropped,kept", "foreign": "y"},
	}
	cases := map[string]struct {
		desired Metadata
		want    apply.Metadata
	}{
		"a key that left the template goes, foreign keys stay, stale reserved keys are scrubbed": {
			desired: rules.Desired(Metadata{Labels: map[string]string{"kept": "2"}}, Metadata{Labels: map[string]string{"sys/hash": "real"}}),
			want: apply.Metadata{
				Labels:      map[string]*string{"kept": ptr.To("2"), "dropped": nil, "sys/old": nil},
				Annotations: map[string]*string{"sys/labels": ptr.To("kept")},
			},
		},
		"an emptied template takes its list along": {
			desired: rules.Desired(Metadata{}, Metadata{Labels: map[string]string{"sys/hash": "real", "sys/old": "stale"}}),
			want: apply.Metadata{
				Labels:      map[string]*string{"kept": nil, "dropped": nil},
				Annotations: map[string]*string{"sys/labels": nil},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, rules.Change(living, tc.desired)); diff != "" {
				t.Errorf("Change (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChangeOfWhatIsAsDesiredIsEmpty(t *testing.T) {
	desired := rules.Desired(Metadata{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"}}, Metadata{})
	if change := rules.Change(desired, desired); !change.IsEmpty() {
		t.Errorf("change = %+v, want none", change)
	}
}
