// Package progress shows what is being waited for: a terminal gets one line that is kept fresh, anything else a line for each change.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/screen"
)

// Line is the progress of one wait.
type Line interface {
	// Show tells what is being waited for.
	Show(explain.Finding)
	// End leaves the output as it is to go on.
	End()
}

// period lies between two refreshes of a terminal.
const period = time.Second

// None shows nothing.
func None() Line { return none{} }

type none struct{}

// Show implements Line.
func (none) Show(explain.Finding) {}

// End implements Line.
func (none) End() {}

// Log writes a line for each change.
func Log(out io.Writer) Line { return &log{out: out} }

type log struct {
	out  io.Writer
	last string
}

// Show implements Line.
func (l *log) Show(of explain.Finding) {
	text := screen.Progress(of)
	if text != l.last {
		fmt.Fprintln(l.out, text)
		l.last = text
	}
}

// End implements Line.
func (l *log) End() {}

// Terminal keeps one line of so many columns fresh, with the time that has passed, until it is ended.
func Terminal(out io.Writer, time clock.WithTicker, columns int) Line {
	t := &terminal{out: out, columns: columns, clock: time, began: time.Now(), ticker: time.NewTicker(period), ended: make(chan struct{})}
	t.refresher.Go(t.refresh)
	return t
}

type terminal struct {
	out       io.Writer
	columns   int
	clock     clock.PassiveClock
	began     time.Time
	ticker    clock.Ticker
	ended     chan struct{}
	refresher sync.WaitGroup

	mu   sync.Mutex
	text string
}

// The control sequences that begin the line anew.
const anew = "\r\x1b[K"

// Show implements Line.
func (t *terminal) Show(of explain.Finding) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = screen.Progress(of)
	t.draw()
}

// draw writes the line. It needs the lock.
func (t *terminal) draw() {
	if t.text == "" {
		return
	}
	line := fmt.Sprintf("%s  %s", t.clock.Since(t.began).Round(time.Second), t.text)
	if runes := []rune(line); len(runes) >= t.columns && t.columns > 1 {
		line = string(runes[:t.columns-2]) + "…"
	}
	fmt.Fprint(t.out, anew+line)
}

func (t *terminal) refresh() {
	for {
		select {
		case <-t.ended:
			return
		case <-t.ticker.C():
			t.mu.Lock()
			t.draw()
			t.mu.Unlock()
		}
	}
}

// End implements Line. It takes the line away.
func (t *terminal) End() {
	t.ticker.Stop()
	close(t.ended)
	t.refresher.Wait()
	fmt.Fprint(t.out, anew)
}
