package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// benchmark is a comparison, as data.
type benchmark struct {
	name    string
	summary string
	floor   string // what its floor is, for the report
	ours    string
	// controllers are those that run for ours.
	controllers []controller
	// load is how much of it there is, and how fast it comes.
	load func(Options) load
	// bind is what the floor does about a claim, where there are claims.
	bind func(*scene, context.Context, string) error
	// prepare makes what must be there before anything is done.
	prepare func(context.Context, *scene, side) error
	// recover makes good what the warming up has used up.
	recover func(context.Context, *round) error
	// phases are measured one after the other with the same objects.
	phases func(*scene) []phase
}

// load is how much a benchmark does, and how fast.
type load struct {
	count int
	// parallel is how many objects are under way at a time.
	parallel int
	// every is the time between two beginnings; 0: the next one begins when one has reached its goal.
	every time.Duration
	// pool is how many members the warm pool has, where there is one.
	pool int
	// stock is how many members the floor may hand out, which nobody refills.
	stock int
}

// whole is the load that the flags ask for.
func whole(o Options) load { return load{count: o.Count, parallel: o.Parallel} }

// warmUp is how many objects come before those that are measured, for connections and caches to be there.
func (l load) warmUp() int { return min(l.parallel, l.count) }

// scene is what one turn of one side has to do with.
type scene struct {
	clients
	load    load
	tracker *tracker
	// stock holds what the floor hands out.
	stock *stock
	// wanted is how many objects the step at work is about.
	wanted int
}

// phase is what happens to each object once, on either side.
type phase struct {
	name        string
	floor, ours step
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
	return []benchmark{sandboxes(), claimsBurst(), claimsContract(), claimsUnloaded(), claimsDrained(), poolFill()}
}

// Names lists the benchmarks there are.
func Names() []string {
	var names []string
	for _, b := range benchmarks() {
		names = append(names, b.name)
	}
	return names
}

// choose returns the benchmarks of these names, in their order; all of them for no name.
func choose(names []string) ([]benchmark, error) {
	if len(names) == 0 {
		return benchmarks(), nil
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
