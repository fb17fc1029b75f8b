package app

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// As client-go dials.
const (
	dialTimeout   = 30 * time.Second
	dialKeepAlive = 30 * time.Second
)

// clients are what the manager talks to the API server with; nil means the one connection that everything shares.
type clients struct {
	// requests carries what is neither list nor watch.
	requests *http.Client
	// watches carries lists and watches of the caches.
	watches *http.Client
}

// newClients opens the connections that the options ask for. An HTTP/2 connection carries a bounded number of requests at a time,
// and events queue behind writes on it.
func newClients(config *rest.Config, options ClientOptions) (clients, error) {
	var opened clients
	if options.Connections > 1 {
		spread := &roundRobin{}
		for range options.Connections {
			transport, err := ownConnection(config)
			if err != nil {
				return clients{}, err
			}
			spread.over = append(spread.over, transport)
		}
		opened.requests = &http.Client{Transport: spread, Timeout: config.Timeout}
	}
	if options.SeparateWatch {
		transport, err := ownConnection(config)
		if err != nil {
			return clients{}, err
		}
		opened.watches = &http.Client{Transport: transport, Timeout: config.Timeout}
	}
	return opened, nil
}

// ownConnection returns a transport that shares its connection with no other. client-go shares transports between equal
// configurations, and a dialer of its own makes one differ.
func ownConnection(config *rest.Config) (http.RoundTripper, error) {
	apart := rest.CopyConfig(config)
	if apart.Dial == nil {
		apart.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive}).DialContext
	}
	transport, err := rest.TransportFor(apart)
	if err != nil {
		return nil, fmt.Errorf("opening a connection to the API server: %w", err)
	}
	return transport, nil
}

// roundRobin hands requests to each of several transports in turn.
type roundRobin struct {
	over []http.RoundTripper
	next atomic.Uint64
}

// RoundTrip sends the request over the next connection.
func (r *roundRobin) RoundTrip(request *http.Request) (*http.Response, error) {
	turn := r.next.Add(1) % uint64(len(r.over))
	return r.over[turn].RoundTrip(request)
}
