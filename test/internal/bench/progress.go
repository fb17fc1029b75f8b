package bench

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reportEvery is the least time between two lines about the same work.
const reportEvery = 2 * time.Second

// progress tells people what is being done.
type progress struct {
	out io.Writer
}

func (p progress) say(format string, args ...any) {
	fmt.Fprintf(p.out, "bench: "+format+"\n", args...)
}

// counter tells how much of one piece of work is done. It is safe for concurrent use.
type counter struct {
	progress
	label string
	total int

	mu   sync.Mutex
	done int
	last time.Time
}

func (p progress) count(label string, total int) *counter {
	return &counter{progress: p, label: label, total: total, last: time.Now()}
}

func (c *counter) one() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if now := time.Now(); c.done < c.total && now.Sub(c.last) >= reportEvery {
		c.last = now
		c.say("%s: %d of %d", c.label, c.done, c.total)
	}
}
