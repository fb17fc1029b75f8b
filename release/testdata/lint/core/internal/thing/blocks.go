package thing

import (
	"example.com/lint/core/testkit" // want gci
	"time"
)

// Left is the time that is left.
func Left(now time.Time) time.Duration {
	return testkit.Deadline().Sub(now)
}
