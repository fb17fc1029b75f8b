//go:build e2e && race

package e2e_test

// raceDetector says whether these tests, and so the controller they run, have the race detector.
const raceDetector = true
