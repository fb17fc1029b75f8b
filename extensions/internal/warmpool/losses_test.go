package warmpool

import (
	"testing"
	"time"
)

// The first fill and a growing pool are never held back; what is lost is, for as long as the delay says.
func TestLosses(t *testing.T) {
	const delay = 10 * time.Second
	type step struct {
		at            time.Duration
		has           stock
		made, deleted int // after that
		held          int
		left          time.Duration
	}
	cases := map[string][]step{
		"the first fill is not held, however long it takes": {
			{0, stock{0, 0, 5}, 3, 0, 0, 0}, {time.Hour, stock{3, 0, 5}, 2, 0, 0, 0}, {2 * time.Hour, stock{5, 0, 5}, 0, 0, 0, 0},
		},
		"what is lost is held until its time is over": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {time.Second, stock{3, 0, 5}, 0, 0, 2, delay},
			{5 * time.Second, stock{3, 0, 5}, 0, 0, 2, 6 * time.Second}, {11 * time.Second, stock{3, 0, 5}, 2, 0, 0, 0}, {11 * time.Second, stock{5, 0, 5}, 0, 0, 0, 0},
		},
		"what is lost meanwhile comes with it": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {time.Second, stock{4, 0, 5}, 0, 0, 1, delay}, {10 * time.Second, stock{1, 0, 5}, 0, 0, 4, time.Second},
			{11 * time.Second, stock{1, 0, 5}, 0, 0, 0, 0},
		},
		"what is lost after that waits anew": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {0, stock{4, 0, 5}, 0, 0, 1, delay}, {delay, stock{4, 0, 5}, 1, 0, 0, 0},
			{delay, stock{4, 0, 5}, 0, 0, 1, delay},
		},
		"what is taken before it was ever seen is lost too": {
			{0, stock{0, 0, 5}, 5, 0, 0, 0}, {0, stock{0, 0, 5}, 0, 0, 5, delay},
		},
		"members made when the time is over, little by little, wait no more": {
			{0, stock{9, 0, 9}, 0, 0, 0, 0}, {0, stock{0, 0, 9}, 0, 0, 9, delay}, {delay, stock{0, 0, 9}, 3, 0, 0, 0},
			{delay + time.Second, stock{3, 0, 9}, 3, 0, 0, 0}, {delay + 2*time.Second, stock{6, 0, 9}, 3, 0, 0, 0},
		},
		"a larger pool gets what it has never had at once": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {0, stock{3, 0, 5}, 0, 0, 2, delay}, {time.Second, stock{3, 0, 9}, 4, 0, 2, 9 * time.Second},
		},
		"a pool that was smaller meanwhile, too": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {0, stock{5, 0, 2}, 0, 3, 0, 0}, {time.Second, stock{2, 0, 5}, 3, 0, 0, 0},
		},
		"what the pool deletes itself is replaced at once": {
			{0, stock{5, 0, 5}, 0, 5, 0, 0}, {time.Second, stock{0, 0, 5}, 5, 0, 0, 0},
		},
		"what comes back is not waited for": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {0, stock{4, 0, 5}, 0, 0, 1, delay}, {time.Second, stock{5, 0, 5}, 0, 0, 0, 0},
			{time.Minute, stock{4, 0, 5}, 0, 0, 1, delay},
		},
		"what may exist is not lost": {
			{0, stock{5, 0, 5}, 0, 0, 0, 0}, {0, stock{4, 1, 5}, 0, 0, 0, 0},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			losses := NewLosses(delay)
			for i, step := range steps {
				held, left := losses.Hold("pool", step.has, testNow.Add(step.at))
				if held != step.held || left != step.left {
					t.Errorf("step %d: held %d for %v, want %d for %v", i, held, left, step.held, step.left)
				}
				losses.Changed("pool", step.made, step.deleted)
			}
		})
	}
}

// A process that starts in the middle fills at once, and what is gone leaves nothing behind.
func TestLossesMayBeLost(t *testing.T) {
	losses := NewLosses(time.Minute)
	losses.Hold("pool", stock{5, 0, 5}, testNow)
	if held, left := losses.Hold("pool", stock{2, 0, 5}, testNow); held != 3 || left != time.Minute {
		t.Errorf("held %d for %v", held, left)
	}
	losses.Forget("pool")
	losses.Forget("never seen")
	if losses.Len() != 0 {
		t.Errorf("%d pools are remembered", losses.Len())
	}
	if held, _ := losses.Hold("pool", stock{2, 0, 5}, testNow); held != 0 {
		t.Errorf("held %d after a restart", held)
	}
}

func TestWithoutADelayNothingIsHeldOrRemembered(t *testing.T) {
	losses := NewLosses(0)
	losses.Hold("pool", stock{5, 0, 5}, testNow)
	losses.Changed("pool", 1, 0)
	if held, left := losses.Hold("pool", stock{2, 0, 5}, testNow); held != 0 || left != 0 || losses.Len() != 0 {
		t.Errorf("held %d for %v, %d pools remembered", held, left, losses.Len())
	}
}
