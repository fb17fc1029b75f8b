package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Loopback is the address every port of this package belongs to.
const Loopback = "127.0.0.1"

// Free ports are taken from this range: below the ports that Linux gives to
// outgoing connections (32768 on, see ip_local_port_range in ip(7)), so that no
// connection sits on a port when its server comes back, and below those of
// Services of type NodePort (30000 on), to which NetworkPolicy engines let
// Pods through whatever a policy says of the server behind them.
const (
	lowest  = 20000
	highest = 29999
)

// TakenError says that a server listens on the port already.
type TakenError struct {
	Port int
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("port %d of %s is taken", e.Port, Loopback)
}

// Set holds ports by name, each by listening on it. It is safe for concurrent
// use.
type Set struct {
	mu   sync.Mutex
	held map[string]net.Listener
}

// NewSet returns a Set that holds nothing.
func NewSet() *Set {
	return &Set{held: map[string]net.Listener{}}
}

// Hold takes the port, or a *TakenError.
func (s *Set) Hold(name string, port int) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(Loopback, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return &TakenError{Port: port}
	}
	if err != nil {
		return fmt.Errorf("trying port %d: %w", port, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = l
	return nil
}

// HoldFree takes a free port, chosen at random so that clusters that start at
// the same time seldom look at the same one, and returns it.
func (s *Set) HoldFree(name string) (int, error) {
	const attempts = 100
	var taken *TakenError
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		err := s.Hold(name, port)
		if err == nil {
			return port, nil
		}
		if !errors.As(err, &taken) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d in %d attempts", lowest, highest, attempts)
}

// Release lets go of a port, for its server to listen on. A name that is not
// held is ignored.
func (s *Set) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, held := s.held[name]; held {
		_ = l.Close()
		delete(s.held, name)
	}
}

// Close lets go of all ports.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range s.held {
		_ = l.Close()
		delete(s.held, name)
	}
}
