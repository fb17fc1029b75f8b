package steps

import (
	"bytes"
	"strings"
	"sync"
)

const (
	// blockLines is how much is kept of what one failed test said, and tailLines of a step without any, from their end.
	blockLines = 30
	tailLines  = 15
	// blocksAtMost is of how many failed tests something is kept: the first tend to explain those after them.
	blocksAtMost = 5
)

// gist keeps of the output of a step what says why it failed: what tests said that `go test` calls failed, with -v or without, or else
// its last lines.
type gist struct {
	mu sync.Mutex
	// block is what the test of the moment said, failed whether it is called that.
	block  []string
	failed bool
	blocks []string
	tail   []string
}

func (g *gist) add(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fails := strings.HasPrefix(line, "--- FAIL")
	if startsTest(line) || fails && g.failed {
		g.endBlock()
	}
	g.failed = g.failed || fails
	g.block, g.tail = last(blockLines, append(g.block, line)), last(tailLines, append(g.tail, line))
}

// startsTest tells whether what the test before said is over. A subtest belongs to its test.
func startsTest(line string) bool {
	if name, isRun := strings.CutPrefix(line, "=== RUN"); isRun {
		return !strings.Contains(name, "/")
	}
	for _, begin := range []string{"--- PASS", "--- SKIP", "ok  \t", "FAIL", "?   \t"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

func (g *gist) endBlock() {
	if g.failed && len(g.blocks) < blocksAtMost {
		g.blocks = append(g.blocks, strings.Join(g.block, "\n"))
	}
	g.block, g.failed = nil, false
}

func last(n int, lines []string) []string { return lines[max(0, len(lines)-n):] }

// String returns what was kept.
func (g *gist) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endBlock()
	if len(g.blocks) == 0 {
		return strings.Join(g.tail, "\n")
	}
	return strings.Join(g.blocks, "\n")
}

// stream cuts one stream of an output into lines.
type stream struct {
	to   *gist
	rest []byte
}

// Write implements io.Writer.
func (s *stream) Write(data []byte) (int, error) {
	s.rest = append(s.rest, data...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		s.to.add(string(line))
		s.rest = rest
	}
}
