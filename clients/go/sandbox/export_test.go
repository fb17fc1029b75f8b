package sandbox

import (
	"os"

	"k8s.io/utils/clock"
)

// Forget gives up the connection of a Sandbox without anything else.
func (c *Client) Forget(sb *Sandbox) { sb.disconnect() }

// SetClock replaces the clock.
func (c *Client) SetClock(to clock.PassiveClock) { c.clock = to }

// CleanUpOn is EnableAutoCleanup with another end of the program.
func (c *Client) CleanUpOn(end func(os.Signal)) (stop func()) { return c.cleanUpOn(end) }
