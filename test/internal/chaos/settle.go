package chaos

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

const (
	// settlePatience bounds how long it may take until all is as it should be.
	settlePatience = 2 * time.Minute
	// restFor is how long nothing may change for all to be at rest.
	restFor = 3 * time.Second
	// lookEvery is the time between two looks at all there is.
	lookEvery = time.Second
	// storiesMost is how many violations carry what happened before.
	storiesMost = 5
)

// settle waits until every object is as it should be and none changes any more, and returns how long it took until the last
// change. What is still wrong in the end are violations.
func (p *play) settle(ctx context.Context, about subject) (time.Duration, error) {
	p.settings.say("no more kills; waiting for all to come to rest")
	p.diary.note("", "no more kills")
	began := time.Now()
	for {
		seen, err := about.judge(ctx)
		if err != nil {
			return 0, err
		}
		found, latest := seen.found, seen.latest
		if len(found) > 0 {
			p.diary.note("", "%d things are not as they should be, as %s", len(found), found[0])
		}
		switch {
		case len(found) == 0 && time.Since(latest) >= restFor:
			return max(0, latest.Sub(began)), nil
		case time.Since(began) >= settlePatience && len(found) == 0:
			p.violate(check.Violation{Kind: check.KindSandbox, Broken: fmt.Sprintf(
				"something changes still %s after the last kill, though all is as it should be", settlePatience)})
			return settlePatience, nil
		case time.Since(began) >= settlePatience:
			p.report(found)
			return settlePatience, nil
		}
		if err := sleepUntil(ctx, time.Now().Add(lookEvery)); err != nil {
			return 0, err
		}
	}
}

// report records violations, the first of them with what happened before.
func (p *play) report(found []check.Violation) {
	for i, v := range found {
		if i < storiesMost {
			v.History = p.diary.about(v.Claim, v.Sandbox)
		}
		p.violate(v)
	}
}
