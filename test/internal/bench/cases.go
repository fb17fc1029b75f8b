package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

// benchmark is a comparison, as data.
type benchmark struct {
	name    string
	summary string
	floor   string // what its floor is, for the report
	ours    string
	// named says that it takes so long that it runs only when it is asked for by its name.
	named bool
	// controllers are those that run for ours, with these flags.
	controllers []controller
	args        []string
	// load is how much of it there is, and how fast it comes.
	load func(Options) load
	// against are sides of other benchmarks that come before each round, and fit makes the load from what they show; none: the
	// load is as it is.
	against []yardstick
	fit     func(load, []float64) load
	// bind is what the floor does about a claim, where there are claims.
	bind func(*scene, context.Context, string) error
	// prepare makes what must be there before anything is done.
	prepare func(context.Context, *scene, side) error
	// recover makes good what the warming up has used up.
	recover func(context.Context, *round) error
	// phases are measured one after the other with the same objects.
	phases func(*scene) []phase
}

// yardstick is what the first phase of a benchmark shows of a metric, on one side.
type yardstick struct {
	of     func() benchmark
	side   side
	metric string
}

// load is how much a benchmark does, and how fast.
type load struct {
	count int
	// parallel is how many objects are under way at a time.
	parallel int
	// every is the time between two beginnings; 0: the next one begins when one has reached its goal.
	every time.Duration
	// pools is how many warm pools there are, in which claims come in turn; less than two: one. pool is how many members each
	// has, where there is one.
	pools, pool int
	// stock is how many members the floor may hand out, which nobody refills.
	stock int
	// lasts is for how long objects come, where their number follows from their rate.
	lasts time.Duration
	// unloaded is how many milliseconds half of our claims take at most while nothing else goes on; 0: not known.
	unloaded float64
	// crowd is how many Sandboxes are there beside those that are measured, at first and in the end.
	crowd [2]int
}

// poolNames are the names of its warm pools.
func (l load) poolNames() []string { return poolNames(l.pools) }

// pods is how many Pods there may be at a time, warming up included.
func (l load) pods() int {
	return 2*l.count + l.warmUp() + max(l.pools, 1)*l.pool + l.crowd[1]
}

// whole is the load that the flags ask for.
func whole(o Options) load { return load{count: o.Count, parallel: o.Parallel} }

// warmUp is how many objects come before those that are measured, for connections and caches to be there.
func (l load) warmUp() int { return min(l.parallel, l.count) }

// scene is what one turn of one side has to do with.
type scene struct {
	clients
	load     load
	tracker  *tracker
	progress progress
	// stock holds what the floor hands out.
	stock *stock
	// wanted is how many objects the step at work is about.
	wanted int
	// claimed is how many claims were made so far.
	claimed atomic.Int64
}

// phase is what happens to each object once, on either side.
type phase struct {
	name        string
	floor, ours step
	// objects is what its objects are called; empty: as in every other phase that does not say.
	objects string
	// before is what is done first and not measured, except for what it returns; nil: nothing.
	before func(context.Context, *round) ([]report.Measurement, error)
	// than is an earlier phase that did the same with less around it; empty: none.
	than string
	// pods is how many Pods come into being for each object; what is not made for an object has none.
	pods int
	// judge finds what is wrong with the counts, once all is done.
	judge judgment
	// figures are those of this phase alone.
	figures figures
}

// step is something a client does about an object, and what it then waits for.
type step struct {
	do      func(ctx context.Context, name string) error
	reached func(view) bool
	// want says what is reached, for the error of one that never is.
	want string
	// of is the name that is waited for, where one step is for all objects; empty: each object's own.
	of string
}

// benchmarks are all there are.
func benchmarks() []benchmark {
	return []benchmark{sandboxes(), claimsBurst(), claimsContract(), claimsUnloaded(), claimsDrained(), claimsSustained(), poolFill(), scale()}
}

// Names lists the benchmarks there are.
func Names() []string {
	var names []string
	for _, b := range benchmarks() {
		names = append(names, b.name)
	}
	return names
}

// choose returns the benchmarks of these names, in their order; for no name all that need not be named.
func choose(names []string) ([]benchmark, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(benchmarks(), func(b benchmark) bool { return b.named }), nil
	}
	var chosen []benchmark
	for _, name := range names {
		found := false
		for _, b := range benchmarks() {
			if b.name == name {
				chosen, found = append(chosen, b), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no case %q: there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return chosen, nil
}
