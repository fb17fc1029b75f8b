package pacer

import (
	"testing"
	"time"
)

func TestHold(t *testing.T) {
	const window = 500 * time.Millisecond
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := New[string]()
	steps := []struct {
		name string
		at   time.Duration
		want time.Duration
	}{
		{"the first call opens the window", 0, 500 * time.Millisecond},
		{"a call inside it waits for the rest", 200 * time.Millisecond, 300 * time.Millisecond},
		{"its end lets the write through", 500 * time.Millisecond, 0},
		{"and so does any later time", time.Hour, 0},
	}
	for _, step := range steps {
		if got := p.Hold("a", start.Add(step.at), window); got != step.want {
			t.Errorf("%s: Hold = %v, want %v", step.name, got, step.want)
		}
	}
	if got := p.Hold("b", start.Add(time.Hour), window); got != 500*time.Millisecond {
		t.Errorf("another object has a window of its own: %v", got)
	}
}

func TestForgetEndsTheWindowAndLeavesNothingBehind(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := New[string]()
	p.Hold("a", start, time.Second)
	p.Forget("a")
	p.Forget("never seen")
	if p.Len() != 0 {
		t.Errorf("%d windows left", p.Len())
	}
	if got := p.Hold("a", start.Add(time.Hour), time.Second); got != time.Second {
		t.Errorf("after Forget, as after a restart, a full window: %v", got)
	}
}

func TestZeroWindowHoldsNothing(t *testing.T) {
	if got := New[string]().Hold("a", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0); got != 0 {
		t.Errorf("Hold = %v", got)
	}
}
