package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/stats"
)

// mostReconciles is how many passes over a claim it may take to give it a member, by the table in the architecture.
const mostReconciles = 3

type (
	judgment func(*round, phase, costs) []error
	figures  func(*round, []sample) []report.Measurement
)

// judgeWarm holds a case in which there is a member for each claim to what that may cost: of each write exactly one.
func judgeWarm(r *round, p phase, c costs) []error {
	all := judgeClaims(r, p, c)
	if warm := len(r.launched(sandboxv1beta1.LaunchTypeWarm)); warm != len(r.names) {
		all = append(all, fmt.Errorf("%d of %d claims got a member of the pool", warm, len(r.names)))
	}
	return append(all, judgeCosts(r, c)...)
}

// judgeSustained holds a case in which a pool is refilled while claims come: where it keeps up, to what a warm claim may cost.
// That a pool was drained is no fault by itself, for it is a matter of time; that it was left aside is one.
func judgeSustained(r *round, p phase, c costs) []error {
	all := judgeClaims(r, p, c)
	cold := len(r.launched(sandboxv1beta1.LaunchTypeCold))
	if cold == 0 {
		return append(all, judgeCosts(r, c)...)
	}
	if least := r.fewestMembers(); least > r.load.parallel {
		all = append(all, fmt.Errorf("%d claims got no member, though %d were Ready in each pool at any moment", cold, least))
	}
	return all
}

// fewestMembers is how many members were Ready at the moment at which the emptiest pool had fewest.
func (r *round) fewestMembers() int {
	least := r.load.pool
	for _, pool := range r.load.poolNames() {
		r.tracker.look(pool, func(v view) { least = min(least, v.fewestReady) })
	}
	return least
}

// judgeCosts holds warm claims to what each may cost.
func judgeCosts(r *round, c costs) []error {
	var all []error
	if each := c.reconciles["sandboxclaim"] / float64(len(r.names)); each > mostReconciles {
		all = append(all, fmt.Errorf("%.2f reconciles for each claim, want %d at most", each, mostReconciles))
	}
	if r.side == oursSide && c.counted {
		all = append(all, judgeWrites(c.requests, len(r.names))...)
	}
	return all
}

// judgeDrained holds a case with more claims than members to the members that were there: whoever came while there were some
// got one.
func judgeDrained(r *round, p phase, c costs) []error {
	all := judgeClaims(r, p, c)
	if warm, least := len(r.launched(sandboxv1beta1.LaunchTypeWarm)), min(r.load.pool, len(r.names)); warm < least {
		all = append(all, fmt.Errorf("%d claims got a member of the pool, which had %d", warm, least))
	}
	return all
}

// judgeClaims holds every case of claims to what is promised of them.
func judgeClaims(r *round, _ phase, c costs) []error {
	all := r.tracker.broken()
	if r.side == floorSide {
		return all
	}
	all = append(all, r.judgePopulation(r.load.pool), judgeRefusals(c.requests))
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

// judgeFill holds a pool to its size.
func judgeFill(r *round, _ phase, c costs) []error {
	if r.side == floorSide {
		return nil
	}
	all := []error{r.judgePopulation(len(r.names)), judgeRefusals(c.requests)}
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

func (r *round) judgePopulation(most int) error {
	var all []error
	for _, pool := range r.load.poolNames() {
		r.tracker.look(pool, func(v view) {
			if v.mostMembers > most {
				all = append(all, fmt.Errorf("pool %q had %d members, want %d at most at any moment", pool, v.mostMembers, most))
			}
		})
	}
	return errors.Join(all...)
}

func judgeRefusals(requests audit.Counts) error {
	var all []error
	refused := requests.By(refusal, byController, audit.Kind.Refused)
	for _, kind := range slices.Sorted(maps.Keys(refused)) {
		all = append(all, fmt.Errorf("refused %d times: %s", refused[kind], kind))
	}
	return errors.Join(all...)
}

// bounds are how many writes of a kind each claim costs, at least and at most.
type bounds struct{ least, most int }

// writesOfWarmClaim is the table in the architecture, Events and the status of the pool apart: commit, publish and the
// observability of the claim; the metadata of its Pod; and the member that takes the place of its Sandbox, which takes a second
// status when it is not Ready within the time for which a status is held back.
func writesOfWarmClaim() map[string]bounds {
	once := bounds{1, 1}
	return map[string]bounds{
		"extensions: patch sandboxes":            once,
		"extensions: patch sandboxclaims/status": once,
		"extensions: patch sandboxclaims":        once,
		"extensions: create sandboxes":           once,
		"core: patch pods":                       once,
		"core: create pods":                      once,
		"core: patch sandboxes/status":           {1, 2},
	}
}

func judgeWrites(requests audit.Counts, claims int) []error {
	ofPool := func(k audit.Kind) bool { return k.Resource == poolResource+"/status" }
	written := requests.By(func(k audit.Kind) string { return sender(k) + ": " + verbAndResource(k) },
		byController, audit.Kind.IsWrite, noEvent, func(k audit.Kind) bool { return !ofPool(k) })
	allowed := writesOfWarmClaim()
	var all []error
	kinds := maps.Clone(written)
	for kind := range allowed {
		kinds[kind] += 0
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		least, most := allowed[kind].least*claims, allowed[kind].most*claims
		if n := written[kind]; n < least || n > most {
			all = append(all, fmt.Errorf("%d writes for %d claims, want %d to %d: %s", n, claims, least, most, kind))
		}
	}
	return all
}

// launched are the places, in names, of the claims whose Sandbox was launched that way.
func (r *round) launched(way string) []int {
	var places []int
	for i, name := range r.names {
		sandbox := ""
		r.tracker.look(name, func(v view) {
			if v.claim != nil {
				sandbox = v.claim.Status.Sandbox.Name
			}
		})
		r.tracker.look(sandbox, func(v view) {
			if v.sandbox != nil && v.sandbox.Labels[sandboxv1beta1.LabelLaunchType] == way {
				places = append(places, i)
			}
		})
	}
	return places
}

// sustainedFigures tell of the rate that was asked for, and how near the pools came to being drained.
func sustainedFigures(r *round, samples []sample) []report.Measurement {
	all := append([]report.Measurement{measured("rate asked for", report.PerSecond, report.Median, 1/r.load.every.Seconds())},
		coldFigures(r, samples)...)
	if r.side == floorSide {
		return all // which refills nothing
	}
	const most = 0.99
	return append(all,
		measured("p99 by our p50 of claims-unloaded", report.Times, report.Median, stats.Quantile(millisOf(samples, latencyOf), most)/r.load.unloaded),
		measured("emptiest pool", report.Share, report.Peak, 1-float64(r.fewestMembers())/float64(r.load.pool)))
}

// coldFigures tell how many claims found a member, and how those fared that did not.
func coldFigures(r *round, samples []sample) []report.Measurement {
	warm, cold := len(r.launched(sandboxv1beta1.LaunchTypeWarm)), r.launched(sandboxv1beta1.LaunchTypeCold)
	all := []report.Measurement{measured("warm", report.Share, report.Mean, float64(warm)/float64(len(r.names)))}
	if len(cold) == 0 {
		return all
	}
	var latencies []float64
	for _, i := range cold {
		latencies = append(latencies, samples[i].latency.Seconds())
	}
	slowest := 0.0
	for _, s := range samples {
		slowest = max(slowest, s.latency.Seconds())
	}
	const half, millis = 0.5, 1000
	median := stats.Quantile(latencies, half)
	return append(all,
		measured("cold start p50", report.Millis, report.Median, median*millis),
		measured("slowest claim by that", report.Times, report.Peak, slowest/median))
}
