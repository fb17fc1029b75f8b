package app

import (
	"net/http"
	"strings"
)

// backstage sends Events one after the other. Nobody waits for them, and each costs the API server as much as a write that somebody
// does wait for: the busier it is, the fewer are sent in the time that those take.
type backstage struct {
	next http.RoundTripper
	// turn has room for the one request under way. It is shared by all transports of a process.
	turn chan struct{}
}

// eventsBackstage returns the wrapper for the transports of a process.
func eventsBackstage() func(http.RoundTripper) http.RoundTripper {
	turn := make(chan struct{}, 1)
	return func(next http.RoundTripper) http.RoundTripper { return &backstage{next: next, turn: turn} }
}

// RoundTrip sends the request, one for an Event when the Events before it are answered.
func (b *backstage) RoundTrip(request *http.Request) (*http.Response, error) {
	if !writesEvent(request) {
		return b.next.RoundTrip(request)
	}
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
