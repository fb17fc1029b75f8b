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

	done  chan struct{}
	mu    sync.Mutex
	path  string
	conns []httpstream.Connection
}

// Start serves on a loopback port until the test ends.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.done = make(chan struct{})
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

// Cut ends all connections, as the death of a node does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	upgradesToWebSocket := websocket.IsWebSocketUpgrade(r)
	switch {
	case s.Hang != nil:
		s.Hang()
		<-s.done
	case s.Refuse != 0:
		http.Error(w, http.StatusText(s.Refuse), s.Refuse)
	case upgradesToWebSocket && s.NoWebSocket:
		http.Error(w, "no WebSocket here", http.StatusBadRequest)
	case upgradesToWebSocket:
		s.overWebSocket(w, r)
	default:
		s.overSPDY(w, r)
	}
}

func (s *Server) overWebSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{constants.WebsocketsSPDYTunnelingPrefix + portforward.PortForwardProtocolV1Name}}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	conn, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", socket), s.accept)
	if err == nil {
		s.hold(conn)
	}
}

func (s *Server) overSPDY(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	if conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, s.accept); conn != nil {
		s.hold(conn)
	}
}

func (s *Server) hold(conn httpstream.Connection) {
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	<-conn.CloseChan()
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
