package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// accepted counts the connections that a server is reached by.
type accepted struct {
	mu   sync.Mutex
	seen map[string]int
}

func (a *accepted) note(_ http.ResponseWriter, request *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[request.RemoteAddr]++
}

// http2Server returns a server over TLS and the configuration that reaches it.
func http2Server(t *testing.T) (*accepted, *rest.Config) {
	t.Helper()
	connections := &accepted{seen: map[string]int{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(connections.note))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return connections, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func fetch(t *testing.T, client *http.Client, url string, times int) {
	t.Helper()
	for range times {
		answer, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if answer.ProtoMajor != 2 {
			t.Fatalf("HTTP/%d", answer.ProtoMajor)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRequestsSpreadOverSoManyConnections(t *testing.T) {
	connections, config := http2Server(t)
	opened, err := newClients(config, ClientOptions{Connections: 4, SeparateWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, opened.requests, config.Host, 20)
	if len(connections.seen) != 4 {
		t.Errorf("20 requests over %v", connections.seen)
	}
	for from, n := range connections.seen {
		if n != 5 {
			t.Errorf("%d requests from %s", n, from)
		}
	}
	fetch(t, opened.watches, config.Host, 3)
	if len(connections.seen) != 5 {
		t.Errorf("watches share a connection: %v", connections.seen)
	}
}

func TestByDefaultEverythingSharesOneConnection(t *testing.T) {
	_, config := http2Server(t)
	opened, err := newClients(config, NewOptions().Client)
	if err != nil || opened.requests != nil || opened.watches != nil {
		t.Errorf("opened %+v, %v", opened, err)
	}
}

func TestAConnectionThatCannotBeMadeIsAnError(t *testing.T) {
	config := &rest.Config{Host: net.JoinHostPort("localhost", "1"), TLSClientConfig: rest.TLSClientConfig{CAFile: "no-such-file"}}
	for name, options := range map[string]ClientOptions{"requests": {Connections: 2}, "watches": {Connections: 1, SeparateWatch: true}} {
		if _, err := newClients(config, options); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
