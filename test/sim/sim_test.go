package sim

import (
	"flag"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"
)

var (
	schedules = flag.Int64("schedules", 300, "how many schedules to run at least")
	atLeast   = flag.Duration("for", 0, "how long to run schedules at least")
	oneSeed   = flag.Int64("seed", 0, "the one schedule to run; 0 is many")
	firstSeed = flag.Int64("first", 1, "the seed to begin with")
)

// mutantBudget is within how many schedules a mutant must be caught.
const mutantBudget = 5000

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	// Schedules leave much behind, and little stays.
	debug.SetGCPercent(400)
	m.Run()
}

// replay fails with the steps of a schedule.
func replay(t *testing.T, v verdict) {
	t.Helper()
	again := schedule{seed: v.seed, traced: true}.run(t)
	t.Errorf("%s\nsteps (again: go test ./sim -run TestSchedules -seed %d):\n%s", v, v.seed, strings.Join(again.trace, "\n"))
}

func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		if v := (schedule{seed: *oneSeed, traced: testing.Verbose()}).run(t); v.breach != "" {
			replay(t, v)
		} else {
			t.Log(strings.Join(v.trace, "\n"))
		}
		return
	}
	var next atomic.Int64
	var failed atomic.Bool
	next.Store(*firstSeed)
	begin, total := time.Now(), progress{began: time.Now()}
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for !failed.Load() {
					seed := next.Add(1) - 1
					if seed >= *firstSeed+*schedules && time.Since(begin) >= *atLeast {
						return
					}
					v := schedule{seed: seed}.run(t)
					total.count(t, v)
					if v.breach != "" {
						failed.Store(true)
						replay(t, v)
					}
				}
			})
		}
	})
	t.Log(total.line())
}

// progress tells every ten seconds how far the run has come.
type progress struct {
	mu          sync.Mutex
	sum         tally
	began, told time.Time
}

func (p *progress) count(t *testing.T, v verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.add(v.tally)
	if now := time.Now(); now.Sub(p.began) > 10*time.Second && now.Sub(p.told) > 10*time.Second {
		p.told = now
		t.Log(p.text())
	}
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text()
}

func TestMutantsAreCaught(t *testing.T) {
	for name, tc := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := int64(1); seed <= mutantBudget; seed++ {
				v := schedule{seed: seed, mutant: tc.mutant}.run(t)
				if regexp.MustCompile(tc.breaks).MatchString(v.breach) {
					t.Logf("caught by %s", v)
					return
				}
			}
			t.Errorf("not caught within %d schedules", mutantBudget)
		})
	}
}

func TestSchedulesThatOnceFailed(t *testing.T) {
	for seed, what := range map[int64]string{
		1024:  "the status of a Sandbox stays wrong whose write nobody answered for",
		32930: "a claim publishes another of its Sandboxes when the published one could not be read",
	} {
		if v := (schedule{seed: seed}).run(t); v.breach != "" {
			t.Log(what)
			replay(t, v)
		}
	}
}

func TestTheSameSeedGivesTheSameSteps(t *testing.T) {
	for seed := int64(1); seed <= 20; seed++ {
		first := schedule{seed: seed, traced: true}.run(t)
		second := schedule{seed: seed, traced: true}.run(t)
		if diff := cmp.Diff(first.trace, second.trace); diff != "" {
			t.Fatalf("seed %d, first and second run differ (-first +second):\n%s", seed, diff)
		}
	}
}
