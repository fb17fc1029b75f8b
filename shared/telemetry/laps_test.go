package telemetry

import (
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestALapIsCountedOnce(t *testing.T) {
	laps := NewLaps[string]()
	if _, ok := laps.End("box", start); ok {
		t.Error("a lap that never began ended")
	}
	laps.Start("box", start)
	laps.Start("box", start.Add(time.Second)) // it has begun
	if !laps.Running("box") {
		t.Error("it does not run")
	}
	if took, ok := laps.End("box", start.Add(3*time.Second)); !ok || took != 3*time.Second {
		t.Errorf("it took %v, %v", took, ok)
	}
	laps.Start("box", start.Add(4*time.Second))
	if took, ok := laps.End("box", start.Add(5*time.Second)); ok || laps.Running("box") {
		t.Errorf("it ended twice, the second time in %v", took)
	}
	laps.Forget("box")
	laps.Start("box", start)
	if took, ok := laps.End("box", start.Add(-time.Second)); !ok || took != 0 {
		t.Errorf("a clock that was set back: %v, %v", took, ok)
	}
	laps.Forget("box")
	if n := laps.Len(); n != 0 {
		t.Errorf("%d are remembered", n)
	}
}

// What is lost in a restart is started anew by the caller: a fresh value knows nothing.
func TestLapsSurviveNoRestart(t *testing.T) {
	before := NewLaps[string]()
	before.Start("box", start)
	after := NewLaps[string]()
	if _, ok := after.End("box", start); ok {
		t.Error("a lap of another process ended")
	}
}

func TestLapsAreSafeForConcurrentUse(t *testing.T) {
	laps := NewLaps[int]()
	var wait sync.WaitGroup
	for key := range 100 {
		wait.Go(func() {
			laps.Start(key%10, start)
			laps.Running(key % 10)
			laps.End(key%10, start)
			laps.Forget(key % 10)
		})
	}
	wait.Wait()
	if n := laps.Len(); n > 10 {
		t.Errorf("%d keys", n)
	}
}
