// Package testkit may read the clock.
package testkit

import "time"

// Deadline is a minute from now.
func Deadline() time.Time {
	return time.Now().Add(time.Minute)
}
