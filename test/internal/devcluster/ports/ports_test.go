package ports

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

func listen(port int) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(Loopback, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

func TestAPortIsHeldUntilItIsReleased(t *testing.T) {
	set := NewSet()
	t.Cleanup(set.Close)
	port, err := set.HoldFree("a")
	if err != nil {
		t.Fatal(err)
	}
	if port < lowest || port > highest {
		t.Errorf("port %d is outside %d to %d", port, lowest, highest)
	}
	if listen(port) == nil {
		t.Errorf("another listens on port %d while it is held", port)
	}
	var taken *TakenError
	if err := NewSet().Hold("b", port); !errors.As(err, &taken) || taken.Port != port {
		t.Errorf("Hold of a held port = %v, want a TakenError for %d", err, port)
	}
	set.Release("unknown")
	set.Release("a")
	if err := listen(port); err != nil {
		t.Errorf("after Release: %v", err)
	}
}

func TestCloseReleasesAll(t *testing.T) {
	set := NewSet()
	var held []int
	for _, name := range []string{"a", "b", "c"} {
		port, err := set.HoldFree(name)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, port)
	}
	set.Close()
	for _, port := range held {
		if err := listen(port); err != nil {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A NetworkPolicy says nothing of what listens at the port of a Service of type NodePort: with the API server there, every Pod reaches it.
func TestNoPortIsOneOfServices(t *testing.T) {
	const many, nodePorts = 200, 30000
	set := NewSet()
	t.Cleanup(set.Close)
	for i := range many {
		port, err := set.HoldFree(strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if port >= nodePorts {
			t.Errorf("port %d is one that a Service of type NodePort may have", port)
		}
	}
}
