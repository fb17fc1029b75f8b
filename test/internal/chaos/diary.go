package chaos

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// historyLines is how many lines of the diary go into a violation, at most.
const historyLines = 60

// diary notes what users did and what a watch told, in the order in which it was noted. It is safe for concurrent use.
type diary struct {
	mu    sync.Mutex
	began time.Time
	out   io.Writer
	lines []entry
}

// entry is a line about a Sandbox; without a name it is about all of them.
type entry struct{ name, text string }

func newDiary(began time.Time, out io.Writer) *diary {
	return &diary{began: began, out: out}
}

// note adds a line about the Sandbox of that name; empty: about all.
func (d *diary) note(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf("%9.3f %s: %s", time.Since(d.began).Seconds(), name, text)
	d.lines = append(d.lines, entry{name, line})
	fmt.Fprintln(d.out, line)
}

// about returns the last lines that matter for objects of those names.
func (d *diary) about(names ...string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, line := range d.lines {
		if line.name == "" || slices.Contains(names, line.name) {
			found = append(found, line.text)
		}
	}
	return found[max(0, len(found)-historyLines):]
}
