package testkit

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

// Writes counts the requests that change something, by what they change, and the others. It is safe for concurrent use.
type Writes struct {
	mu     sync.Mutex
	counts map[string]int
	reads  int
}

// CountWrites returns a copy of config whose requests are counted.
func CountWrites(config *rest.Config) (*rest.Config, *Writes) {
	writes := &Writes{counts: map[string]int{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			writes.add(request)
			return next.RoundTrip(request)
		})
	})
	return counted, writes
}

// Counts returns how often each kind of write was sent, as "PATCH sandboxes/status".
func (w *Writes) Counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts)
}

// Requests returns how many requests were sent, but for those of watches and for Events.
func (w *Writes) Requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := w.reads
	for what, n := range w.counts {
		if !strings.HasSuffix(what, " events") {
			sum += n
		}
	}
	return sum
}

// Reset starts the count anew.
func (w *Writes) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.counts)
	w.reads = 0
}

func (w *Writes) add(request *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case request.Method != http.MethodGet:
		w.counts[request.Method+" "+telemetry.Resource(request.URL.Path)]++
	case request.URL.Query().Get("watch") == "":
		w.reads++
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
