package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	clientevents "k8s.io/client-go/tools/events"

	"sigs.k8s.io/agent-sandbox/shared/events"
)

// mostEvents is how many Events wait to be sent, at most, before further ones are dropped: each keeps a goroutine and 20 kB.
const mostEvents = 1000

// backstage sends the Events of a process one after the other. Nobody waits for them, and each costs the API server as much as a write
// that somebody does wait for: the busier it is, the fewer are sent in the time that those take.
type backstage struct {
	// turn has room for the one request under way.
	turn chan struct{}
	// waiting is how many requests there are, that one included.
	waiting atomic.Int64
}

func newBackstage() *backstage { return &backstage{turn: make(chan struct{}, 1)} }

// hasRoom says whether a further Event may wait.
func (b *backstage) hasRoom() bool { return b.waiting.Load() < mostEvents }

// wrap is for every transport of the process.
func (b *backstage) wrap(next http.RoundTripper) http.RoundTripper {
	return backstageTransport{b, next}
}

type backstageTransport struct {
	*backstage
	next http.RoundTripper
}

// RoundTrip sends the request, one for an Event when the Events before it are answered.
func (b backstageTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !writesEvent(request) {
		return b.next.RoundTrip(request)
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	select {
	case b.turn <- struct{}{}:
	case <-request.Context().Done():
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, request.Context().Err()
	}
	defer func() { <-b.turn }()
	return b.next.RoundTrip(request)
}

// writesEvent goes by the path: .../namespaces/NAMESPACE/events, for a patch with a name behind it.
func writesEvent(request *http.Request) bool {
	parts := strings.Split(request.URL.Path, "/")
	last := len(parts) - 1
	switch request.Method {
	case http.MethodPost:
		return parts[last] == "events"
	case http.MethodPatch, http.MethodPut:
		return last > 0 && parts[last-1] == "events"
	default:
		return false
	}
}

// limitedEvents returns a recorder that emits to sink as long as the backstage has room, and counts what it drops.
func limitedEvents(sink clientevents.EventRecorder, b *backstage, registry prometheus.Registerer) (events.Recorder, error) {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "agent_sandbox_events_dropped_total", Help: "Events that were not sent, since too many waited to be.",
	})
	if err := registry.Register(dropped); err != nil {
		return nil, fmt.Errorf("registering agent_sandbox_events_dropped_total: %w", err)
	}
	return events.Limited(events.NewRecorder(sink), b.hasRoom, dropped.Inc), nil
}
