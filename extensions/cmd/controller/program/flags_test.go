package program

import (
	"math"
	"testing"
	"time"

	"sigs.k8s.io/agent-sandbox/shared/app"
)

// A5.3: by default many claims are worked on at once, and nothing holds the requests back.
func TestByDefaultNothingHoldsClaimsBack(t *testing.T) {
	if f := newFlags(); f.claimWorkers < 50 || f.refillRate != 0 {
		t.Errorf("--%s=%d, --%s=%v", claimWorkersFlag, f.claimWorkers, refillRateFlag, f.refillRate)
	}
	if qps := app.NewOptions().Client.QPS; qps != -1 {
		t.Errorf("--kube-api-qps=%v", qps)
	}
}

// A4.18: a refill rate is a number.
func TestFlagsOutOfBoundsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*flags){
		"--sandbox-claim-concurrent-workers=0: must be above 0":                 func(f *flags) { f.claimWorkers = 0 },
		"--sandbox-warm-pool-concurrent-workers=-1: must be above 0":            func(f *flags) { f.poolWorkers = -1 },
		"--sandbox-warm-pool-max-batch-size=0: must be above 0":                 func(f *flags) { f.batch = 0 },
		"--sandbox-warm-pool-max-refill-rate=-1: must be finite and 0 or above": func(f *flags) { f.refillRate = -1 },
		"--sandbox-warm-pool-max-refill-rate=NaN: must be finite and 0 or above": func(f *flags) {
			f.refillRate = math.NaN()
		},
		"--sandbox-warm-pool-max-refill-rate=+Inf: must be finite and 0 or above": func(f *flags) {
			f.refillRate = math.Inf(1)
		},
		"--sandbox-warm-pool-replenish-delay=-1s: must be 0 or above":            func(f *flags) { f.delay = -time.Second },
		"--sandbox-warm-pool-readiness-grace-period=0s: must be above 0":         func(f *flags) { f.grace = 0 },
		"--sandbox-warm-pool-unschedulable-recheck-interval=0s: must be above 0": func(f *flags) { f.recheck = 0 },
		"": func(*flags) {},
	} {
		f := newFlags()
		change(f)
		got := ""
		if err := f.validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
