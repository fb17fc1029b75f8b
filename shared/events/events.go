// Package events records what happened to an object, for people who describe it.
package events

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"

	"sigs.k8s.io/agent-sandbox/shared/refusals"
	"sigs.k8s.io/agent-sandbox/shared/text"
)

// noteLimit is how long the API lets a note be, in bytes.
const noteLimit = 1024

// Event is something that happened.
type Event struct {
	Type   string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason string // why, in CamelCase
	Action string // what was being done, in CamelCase
	Note   string // a sentence for people; cut where it is longer than the API allows
}

// Normal returns an Event that needs no attention.
func Normal(reason, action, note string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note}
}

// Warning returns an Event that somebody should look at.
func Warning(reason, action, note string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note}
}

// Recorder emits Events.
type Recorder interface {
	Emit(regarding runtime.Object, happened ...Event)
}

// NewRecorder returns a Recorder that sends to the API server in the background.
func NewRecorder(sink clientevents.EventRecorder) Recorder { return recorder{sink: sink} }

// Discard returns a Recorder that emits nothing.
func Discard() Recorder { return discard{} }

// Limited returns a Recorder that emits through another as long as there is room, and calls dropped for each Event that is not emitted.
func Limited(recorder Recorder, hasRoom func() bool, dropped func()) Recorder {
	return limited{recorder: recorder, hasRoom: hasRoom, dropped: dropped}
}

type limited struct {
	recorder Recorder
	hasRoom  func() bool
	dropped  func()
}

// Emit sends each Event that there is room for.
func (l limited) Emit(regarding runtime.Object, happened ...Event) {
	for _, event := range happened {
		if !l.hasRoom() {
			l.dropped()
			continue
		}
		l.recorder.Emit(regarding, event)
	}
}

type recorder struct{ sink clientevents.EventRecorder }

// Emit sends each Event to the sink.
func (r recorder) Emit(regarding runtime.Object, happened ...Event) {
	for _, event := range happened {
		r.sink.Eventf(regarding, nil, event.Type, event.Reason, event.Action, "%s", text.Cut(event.Note, noteLimit))
	}
}

// Tell emits through a recorder what happened, unless one of the failures beside it says that the namespace of the object is being
// deleted: such a namespace takes no Events any more.
func Tell(recorder Recorder, regarding runtime.Object, failures []error, happened ...Event) {
	if !slices.ContainsFunc(failures, refusals.IsNamespaceGoing) {
		recorder.Emit(regarding, happened...)
	}
}

type discard struct{}

// Emit drops every Event.
func (discard) Emit(runtime.Object, ...Event) {}
