package install

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailLines is how many of its last lines a log keeps.
const tailLines = 40

// tail passes a log on and keeps its last lines. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	to    io.Writer
	lines []string
	rest  []byte // of a line that is not complete
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, p...)
	for {
		line, rest, found := bytes.Cut(t.rest, []byte("\n"))
		if !found {
			break
		}
		t.lines = append(t.lines, string(line))
		t.rest = rest
	}
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	return t.to.Write(p)
}

// String returns the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(t.lines, "\n")
	if len(t.rest) > 0 {
		text += "\n" + string(t.rest)
	}
	return text
}
