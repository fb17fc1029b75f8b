package events

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
)

func TestEmitSendsWhatTheAPITakes(t *testing.T) {
	sink := clientevents.NewFakeRecorder(3)
	recorder := NewRecorder(sink)
	recorder.Emit(&corev1.Pod{}, Normal("Created", "Create", "100% done"), Warning("Failed", "Create", strings.Repeat("x", 5000)))
	if got := <-sink.Events; got != "Normal Created 100% done" {
		t.Errorf("first Event %q", got)
	}
	if got := <-sink.Events; len(got) != len("Warning Failed ")+noteLimit {
		t.Errorf("a note of %d bytes", len(got)-len("Warning Failed "))
	}
	Discard().Emit(&corev1.Pod{}, Normal("Created", "Create", "unheard"))
	if len(sink.Events) != 0 {
		t.Error("Discard emits nothing")
	}
}
