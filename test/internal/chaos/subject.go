package chaos

import (
	"context"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// subject is what a run is about: users who work on it, a watch that sees everything, and a judgement.
type subject interface {
	// work returns once all users have done what the schedule says.
	work(ctx context.Context, began time.Time) error
	// judge reads all there is and says what is wrong with it, and when something last changed.
	judge(ctx context.Context) (look, error)
	// living is how many Sandboxes exist.
	living() int
	// conclude adds to a result what the watch and the requests of the run tell, and returns what is wrong with them.
	conclude(into *Result, requests audit.Counts) []check.Violation
}

// look is what a judgement found.
type look struct {
	found  []check.Violation
	latest time.Time
}

// newSubject begins to watch. What must never be is told to broken at once.
func (p *play) newSubject(ctx context.Context, broken func(check.Violation)) (subject, error) {
	if p.settings.Subject == Claims {
		return p.newClaims(ctx, broken)
	}
	return p.newBoxes(ctx, broken)
}
