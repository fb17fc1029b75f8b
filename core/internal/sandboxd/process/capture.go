package process

import "fmt"

// Capture is a Sink that keeps the first bytes of each stream.
type Capture struct {
	// Limit is how many.
	Limit   int
	streams [2]captured
}

type captured struct {
	kept    []byte
	dropped int
}

// Started does nothing.
func (c *Capture) Started(int) error { return nil }

// Output keeps what there is room for. The program is not held up by what there is none for.
func (c *Capture) Output(stream Stream, data []byte) error {
	to := &c.streams[stream]
	room := min(len(data), c.Limit-len(to.kept))
	to.kept = append(to.kept, data[:room]...)
	to.dropped += len(data) - room
	return nil
}

// Stdout is what was kept of it.
func (c *Capture) Stdout() []byte { return c.streams[Stdout].kept }

// Stderr is what was kept of it, and a line for each stream of which something was dropped.
func (c *Capture) Stderr() []byte {
	text := c.streams[Stderr].kept
	for stream, name := range []string{Stdout: "stdout", Stderr: "stderr"} {
		if dropped := c.streams[stream].dropped; dropped > 0 {
			text = fmt.Appendf(text, "\nsandboxd: the last %d bytes of %s are missing: %d are kept (--max-output-bytes)\n", dropped, name, c.Limit)
		}
	}
	return text
}
