package process

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/agent-sandbox/core/internal/sandboxd/fault"
)

func TestInputUntilItsEnd(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"cat"}, Input: true})
	if err := m.WriteInput(t.Context(), r.id, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	r.writes(t, "hello")
	if err := m.EndInput(t.Context(), r.id); err != nil {
		t.Fatal(err)
	}
	id := r.id
	if code, err := r.wait(t); code != 0 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
	for what, err := range map[string]error{
		"input": m.WriteInput(t.Context(), id, []byte("x")), "its end": m.EndInput(t.Context(), id), "a signal": m.Signal(id, syscall.SIGTERM), "a size": m.Resize(id, Size{80, 24}),
	} {
		if fault.KindOf(err) != fault.NotFound || err == nil {
			t.Errorf("%s for a program that has ended: %v", what, err)
		}
	}
}

func TestInputThatIsNotTaken(t *testing.T) {
	for name, test := range map[string]struct {
		spec Spec
		// before it, this is done.
		before func(*Manager, int) error
	}{
		"for a program without":       {Spec{Command: []string{"sleep", "1000"}}, func(*Manager, int) error { return nil }},
		"after its end":               {Spec{Command: []string{"sleep", "1000"}, Input: true}, func(m *Manager, id int) error { return m.EndInput(context.Background(), id) }},
		"after its end at a terminal": {Spec{Command: []string{"sleep", "1000"}, Terminal: &Size{80, 24}}, func(m *Manager, id int) error { return m.EndInput(context.Background(), id) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestManager()
			r := begin(t, m, test.spec)
			if err := test.before(m, r.id); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{"input": m.WriteInput(t.Context(), r.id, []byte("x")), "its end": m.EndInput(t.Context(), r.id)} {
				if fault.KindOf(err) != fault.Premature {
					t.Errorf("%s: got %v", what, err)
				}
			}
		})
	}
}

func TestAProgramThatHasClosedItsInputTakesNone(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sh", "-c", "exec <&-; echo closed; exec sleep 1000"}, Input: true})
	r.writes(t, "closed")
	if err := m.WriteInput(t.Context(), r.id, []byte("x")); fault.KindOf(err) != fault.Premature {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatDoesNotReadHoldsNoWriter(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sh", "-c", "read line; echo got $line; exec cat >/dev/null"}, Input: true})
	// The shell reads byte by byte, and only to the end of the line: the rest fills the pipe.
	halted := begin(t, m, Spec{Command: []string{"sleep", "1000"}, Input: true})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.WriteInput(ctx, halted.id, make([]byte, 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := m.WriteInput(t.Context(), r.id, []byte("one\n"+strings.Repeat("x", 1<<20))); err != nil {
		t.Errorf("to one that reads: %v", err)
	}
	r.writes(t, "got one")
}

// A write that is given up, for its caller is gone, is no end of the input.
func TestInputAfterAWriteThatWasGivenUp(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sh", "-c", "trap : INT; sleep 1000; exec wc -c"}, Input: true})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.WriteInput(ctx, r.id, make([]byte, 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if err := m.Signal(r.id, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.WriteInput(t.Context(), r.id, []byte("more")), m.EndInput(t.Context(), r.id)); err != nil {
		t.Fatal(err)
	}
	if code, err := r.wait(t); code != 0 || err != nil || strings.TrimSpace(r.stdout.String()) < "1" {
		t.Errorf("code %d, %v, %q bytes are read", code, err, r.stdout.String())
	}
}

func TestSignalsReachTheWholeGroup(t *testing.T) {
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   ExitCode
	}{
		"interrupt": {syscall.SIGINT, 130},
		"kill":      {syscall.SIGKILL, 137},
		"terminate": {syscall.SIGTERM, 143},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestManager()
			// The shell waits for its child, and dies of the signal itself only if that does, too.
			r := begin(t, m, shell("sleep 1000; echo the child has died; kill -"+name[:1]+" $$"))
			id, _, _ := r.snapshot()
			if err := m.Signal(id, test.signal); err != nil {
				t.Fatal(err)
			}
			if code, err := r.wait(t); code != test.code || err != nil {
				t.Errorf("code %d, %v", code, err)
			}
		})
	}
}

func TestAProgramAtATerminal(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; trap 'stty size' WINCH; while ! read line; do :; done; echo $line"}, Terminal: &Size{Cols: 80, Rows: 24}})
	r.writes(t, "all\r\n24 80\r\n")
	if err := m.Resize(r.id, Size{Cols: 132, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	r.writes(t, "50 132\r\n")
	if err := m.WriteInput(t.Context(), r.id, []byte("typed\n")); err != nil {
		t.Fatal(err)
	}
	if code, err := r.wait(t); code != 0 || err != nil || r.stderr.Len() != 0 {
		t.Errorf("code %d, %v, stderr %q", code, err, r.stderr.String())
	}
	r.writes(t, "typed\r\ntyped\r\n")
}

func TestTheEndOfInputAtATerminal(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"cat"}, Terminal: &Size{80, 24}})
	if err := errors.Join(m.WriteInput(t.Context(), r.id, []byte("line\n")), m.EndInput(t.Context(), r.id)); err != nil {
		t.Fatal(err)
	}
	if code, err := r.wait(t); code != 0 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestAControlCharacterOfATerminal(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sh", "-c", "echo ready; exec sleep 1000"}, Terminal: &Size{80, 24}})
	r.writes(t, "ready")
	if err := m.WriteInput(t.Context(), r.id, []byte{3}); err != nil {
		t.Fatal(err)
	}
	if code, err := r.wait(t); code != 130 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestSizesThatAreRefused(t *testing.T) {
	m := newTestManager()
	r := begin(t, m, Spec{Command: []string{"sleep", "1000"}, Input: true})
	if err := m.Resize(r.id, Size{80, 24}); fault.KindOf(err) != fault.Premature {
		t.Errorf("without a terminal: %v", err)
	}
	if err := m.Resize(r.id, Size{0, 24}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("without columns: %v", err)
	}
}
