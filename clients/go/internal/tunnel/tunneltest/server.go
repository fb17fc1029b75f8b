// Package tunneltest stands for the part of an API server that forwards ports to Pods.
package tunneltest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Server forwards every port of every Pod to Serve. Fill it in before Start.
type Server struct {
	// URL is set by Start.
	URL string
	// Serve answers one connection to a port of a Pod.
	Serve func(port string, stream io.ReadWriteCloser)
	// NoWebSocket has it speak SPDY alone, as older API servers do.
	NoWebSocket bool
	// Refuse is the status that it answers with, if any.
	Refuse int
	// Hang is called when it is asked, and then it never answers.
	Hang func()

	done   chan struct{}
	mu     sync.Mutex
	path   string
	opened int
	conns  []httpstream.Connection
	// opening is how many are about to be among conns, though the client may take them for open already; settled tells when it falls.
	opening int
	settled *sync.Cond
}

// Start serves on a loopback port until the test ends.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.done, s.settled = make(chan struct{}), sync.NewCond(&s.mu)
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.done)
		s.Cut()
		server.CloseClientConnections()
		server.Close()
	})
}

// Path is what was asked for last.
func (s *Server) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Opened is how many connections there were.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// Cut ends all connections, as the death of a node does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.opening > 0 {
		s.settled.Wait()
	}
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.path = r.URL.Path
	s.mu.Unlock()
	switch {
	case s.Hang != nil:
		s.Hang()
		<-s.done
	case s.Refuse != 0:
		http.Error(w, http.StatusText(s.Refuse), s.Refuse)
	case websocket.IsWebSocketUpgrade(r) && s.NoWebSocket:
		http.Error(w, "no WebSocket here", http.StatusBadRequest)
	default:
		s.open(w, r)
	}
}

// open upgrades a connection, and returns when it has ended.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.opening++
	s.mu.Unlock()
	upgrade := s.overSPDY
	if websocket.IsWebSocketUpgrade(r) {
		upgrade = s.overWebSocket
	}
	conn := upgrade(w, r)
	s.mu.Lock()
	if s.opening--; conn != nil {
		s.conns = append(s.conns, conn)
		s.opened++
	}
	s.settled.Broadcast()
	s.mu.Unlock()
	if conn != nil {
		<-conn.CloseChan()
	}
}

// overWebSocket returns nil where the upgrade failed.
func (s *Server) overWebSocket(w http.ResponseWriter, r *http.Request) httpstream.Connection {
	upgrader := websocket.Upgrader{Subprotocols: []string{constants.WebsocketsSPDYTunnelingPrefix + portforward.PortForwardProtocolV1Name}}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil
	}
	conn, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", socket), s.accept)
	if err != nil {
		return nil
	}
	return conn
}

// overSPDY returns nil where the upgrade failed.
func (s *Server) overSPDY(w http.ResponseWriter, r *http.Request) httpstream.Connection {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return nil
	}
	return spdy.NewResponseUpgrader().UpgradeResponse(w, r, s.accept)
}

func (s *Server) accept(stream httpstream.Stream, replied <-chan struct{}) error {
	go func() {
		<-replied
		if strings.EqualFold(stream.Headers().Get(corev1.StreamType), corev1.StreamTypeError) {
			_ = stream.Close() // no error
			return
		}
		s.Serve(stream.Headers().Get(corev1.PortHeader), stream)
	}()
	return nil
}
