package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

type status struct {
	Name string   `json:"name,omitempty"`
	IPs  []string `json:"ips,omitempty"`
	N    int32    `json:"n"`
}

// A1.19: a patch carries removals and zero values.
func TestStatusCarriesRemovalsAndZeroValues(t *testing.T) {
	cases := map[string]struct {
		stored, wanted status
		want           string
	}{
		"nothing changed":         {stored: status{Name: "a", N: 1}, wanted: status{Name: "a", N: 1}, want: ""},
		"a cleared field is gone": {stored: status{Name: "a", IPs: []string{"1"}}, wanted: status{N: 1}, want: `[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"add","path":"/status","value":{"n":1}}]`},
		"a zero is written":       {stored: status{N: 3}, wanted: status{N: 0}, want: `[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"add","path":"/status","value":{"n":0}}]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Status("u", tc.stored, tc.wanted)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusRefusesWhatHasNoJSONForm(t *testing.T) {
	if _, err := Status("u", make(chan int), status{}); err == nil {
		t.Error("a stored status without a JSON form is an error")
	}
	if _, err := Status("u", status{}, make(chan int)); err == nil {
		t.Error("a wanted status without a JSON form is an error")
	}
}

func TestMetadataBytes(t *testing.T) {
	cases := map[string]struct {
		patch Metadata
		spec  any
		empty bool
		want  string
	}{
		"a set and a removed label": {
			patch: Metadata{UID: "u", Labels: map[string]*string{"a": ptr.To("1"), "b": nil}},
			want:  `{"metadata":{"uid":"u","labels":{"a":"1","b":null}}}`,
		},
		"owners under a resourceVersion": {
			patch: Metadata{UID: "u", ResourceVersion: "7", OwnerReferences: []metav1.OwnerReference{{Kind: "K", Name: "n", UID: "o"}}},
			want:  `{"metadata":{"uid":"u","resourceVersion":"7","ownerReferences":[{"apiVersion":"","kind":"K","name":"n","uid":"o"}]}}`,
		},
		"a spec beside it": {
			patch: Metadata{UID: "u"}, spec: map[string]string{"a": "b"}, empty: true,
			want: `{"metadata":{"uid":"u"},"spec":{"a":"b"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.patch.Bytes(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if tc.patch.IsEmpty() != tc.empty {
				t.Errorf("IsEmpty = %v, want %v", tc.patch.IsEmpty(), tc.empty)
			}
		})
	}
}

func TestChangesLeavesOtherKeysAlone(t *testing.T) {
	got := Changes(map[string]string{"same": "1", "old": "1", "foreign": "x"}, map[string]string{"same": "1", "old": "2", "new": "3"})
	want := map[string]*string{"old": ptr.To("2"), "new": ptr.To("3")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestOperationsOfAPatch(t *testing.T) {
	cases := map[string]struct {
		operation Operation
		want      string
	}{
		"a test for nothing":       {Test("/metadata/deletionTimestamp", nil), `{"op":"test","path":"/metadata/deletionTimestamp","value":null}`},
		"a value":                  {Set(Key("/metadata/labels", "a/b~c"), "v"), `{"op":"add","path":"/metadata/labels/a~1b~0c","value":"v"}`},
		"another in its place":     {Replace("/spec", 1), `{"op":"replace","path":"/spec","value":1}`},
		"a removal has no value":   {Remove("/spec"), `{"op":"remove","path":"/spec"}`},
		"a version that must hold": {At("7"), `{"op":"add","path":"/metadata/resourceVersion","value":"7"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(tc.operation)
			if err != nil || string(raw) != tc.want {
				t.Errorf("got %s, %v, want %s", raw, err, tc.want)
			}
		})
	}
}

func TestAStatusUnderAVersion(t *testing.T) {
	stored, wanted := map[string]string{"a": "1"}, map[string]string{"a": "2"}
	body, err := StatusAt("7", stored, wanted)
	const want = `[{"op":"add","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/status","value":{"a":"2"}}]`
	if err != nil || string(body) != want {
		t.Errorf("got %s, %v", body, err)
	}
	if body, err = StatusAt("7", stored, stored); body != nil || err != nil {
		t.Errorf("nothing changes, got %s, %v", body, err)
	}
}
