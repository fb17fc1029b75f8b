package thing

import "time"

// Observe is where time enters.
func Observe() time.Time {
	return time.Now()
}

// Wait sleeps, which observing does not excuse.
func Wait() {
	time.Sleep(time.Second) // want forbidigo
}
