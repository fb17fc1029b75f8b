//go:build !race

package integration_test

// raceDetector says whether these tests, and so the programs they run, have the race detector.
const raceDetector = false
