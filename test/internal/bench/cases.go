package bench

import (
	"context"
	"fmt"
	"strings"
)

// benchmark is a comparison, as data.
type benchmark struct {
	name    string
	summary string
	floor   string // what its floor is, for the report
	ours    string
	// controller is its name in controller-runtime's metrics.
	controller string
	// phases are measured one after the other with the same objects.
	phases func(clients) []phase
}

// phase is what happens to each object once, on either side.
type phase struct {
	name        string
	floor, ours step
	// pods is how many Pods come into being for each object.
	pods int
}

// step is something a client does about an object, and what it then waits for.
type step struct {
	do      func(ctx context.Context, name string) error
	reached func(view) bool
	// want says what is reached, for the error of one that never is.
	want string
}

// benchmarks are all there are.
func benchmarks() []benchmark {
	return []benchmark{sandboxes()}
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
