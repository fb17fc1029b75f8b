package sandbox

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

func TestOnlyTheEchoOfOurOwnWriteWakesNobody(t *testing.T) {
	stored := sandboxWith()
	now := func(node string, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
		return sandboxWith(append(modify, func(s *sandboxv1beta1.Sandbox) { s.Status.NodeName = node })...)
	}
	respecified := func(s *sandboxv1beta1.Sandbox) { s.Generation++ }
	labelled := func(s *sandboxv1beta1.Sandbox) { s.Labels = map[string]string{"a": "b"} }
	annotated := func(s *sandboxv1beta1.Sandbox) { s.Annotations = map[string]string{"a": "b"} }
	written, err := names.Fingerprint(now("node-1").Status)
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &Reconciler{echoes: consistency.NewEchoes[types.NamespacedName]()}
	reconciler.echoes.Writes(client.ObjectKeyFromObject(stored), written)
	cases := map[string]struct {
		seen *sandboxv1beta1.Sandbox
		want bool
	}{
		"our own status":                               {now("node-1"), false},
		"somebody else's status":                       {now("node-6"), true},
		"our status and a new spec in one event":       {now("node-1", respecified), true},
		"our status and a new label in one event":      {now("node-1", labelled), true},
		"our status and a new annotation in one event": {now("node-1", annotated), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := reconciler.Wakes().Update(event.UpdateEvent{ObjectOld: stored, ObjectNew: tc.seen}); got != tc.want {
				t.Errorf("wakes = %v, want %v", got, tc.want)
			}
		})
	}
	if !reconciler.Wakes().Create(event.CreateEvent{Object: stored}) || !reconciler.Wakes().Delete(event.DeleteEvent{Object: stored}) {
		t.Error("what appears or goes wakes")
	}
}
