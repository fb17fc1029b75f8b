package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

const (
	// ofClaims says that one in so many Sandboxes of the crowd is a claim's.
	ofClaims = 10
	// crowdMakers is how many Sandboxes of the crowd are made at a time.
	crowdMakers = 50
	// putOff is how long the Events of one Sandbox may take, which are sent when the others have come.
	putOff   = 200 * time.Millisecond
	thousand = 1000.0
)

// scale is one thing at a time among few Sandboxes, and then the same among many: what it takes must not depend on how many
// others there are. All of the crowd run, each with its Pod, for a suspended one is neither watched nor kept like those that do.
func scale() benchmark {
	return benchmark{
		name:    "scale",
		summary: "Sandboxes and claims, one at a time, among a hundredth of --scale running Sandboxes and then among --scale, a tenth of them of claims",
		floor:   "a client makes all of the crowd, and each thing, itself: Sandbox and Pod, or claim, hand-over and status; no controller runs",
		ours:    "a client writes the Sandbox or the claim, and waits for its condition",
		named:   true, controllers: controllers(),
		args: []string{"--enable-pprof-debug", "--pprof-block-profile-rate=0", "--pprof-mutex-profile-fraction=0"},
		load: func(o Options) load {
			const ofCount, less = 3, 100
			count := max(1, o.Count/ofCount)
			return load{
				count: count, parallel: 1, pool: o.Parallel, stock: 2 * count,
				crowd: [2]int{max(1, o.Scale/less), o.Scale},
			}
		},
		prepare: prepareMembers,
		recover: recoverMembers,
		phases: func(s *scene) []phase {
			few, many := fmt.Sprintf(" among %d", s.load.crowd[0]), fmt.Sprintf(" among %d", s.load.crowd[1])
			return slices.Concat(s.phasesAmong(0, few, ""), s.phasesAmong(1, many, few))
		},
	}
}

// phasesAmong are those beside the crowd of that place. Their names end on where, those of the same with a smaller crowd on than.
func (s *scene) phasesAmong(place int, where, than string) []phase {
	sandboxes := fmt.Sprintf("sandbox-%d", place)
	among := func(ctx context.Context, r *round) ([]report.Measurement, error) { return r.beAmong(ctx, place) }
	all := []phase{{
		name: "create", objects: sandboxes, pods: 1, judge: judgePods, before: among,
		floor: step{do: s.createPair, reached: hasReadyPod, want: "a ready Pod"},
		ours:  step{do: s.createSandbox, reached: isReady, want: "Ready=True"},
	}, {
		name: "suspend", objects: sandboxes, judge: judgePods,
		floor: step{do: s.suspendPair, reached: hasNoPod, want: "no Pod"},
		ours:  step{do: s.suspendSandbox, reached: isSuspended, want: "Suspended=True"},
	}, {
		name: "resume", objects: sandboxes, pods: 1, judge: judgePods,
		floor: step{do: s.resumePair, reached: hasReadyPod, want: "a ready Pod"},
		ours:  step{do: s.resumeSandbox, reached: isReady, want: "Ready=True"},
	}, {
		name: "claim", objects: fmt.Sprintf("claim-%d", place), judge: judgeWarm,
		floor: step{do: s.claimAndBind, reached: isClaimed, want: "Ready=True with a Sandbox"},
		ours:  step{do: s.createClaim, reached: isClaimed, want: "Ready=True with a Sandbox"},
	}}
	for i := range all {
		if than != "" {
			all[i].than = all[i].name + than
		}
		all[i].name += where
		all[i].figures = noFigures
	}
	return all
}

// beAmong makes the crowd as large as it is at that place, and reads what the controllers need with nothing going on.
func (r *round) beAmong(ctx context.Context, place int) ([]report.Measurement, error) {
	if err := r.grow(ctx, r.load.crowd[place]); err != nil {
		return nil, err
	}
	busy, err := r.readBusy(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.settleWithin(ctx, patience+time.Duration(r.crowd)*putOff); err != nil || r.side == floorSide {
		return nil, err
	}
	if err := r.awaitMembers(ctx, r.load.pool); err != nil {
		return nil, err
	}
	r.progress.say("%s: waiting for the controllers to come to rest among %d Sandboxes", r.label, r.crowd)
	atRest, err := r.readAtRest(ctx)
	return slices.Concat(busy, atRest), err
}

// readBusy tells how many goroutines the controllers have when the last of the crowd has come: what is put off, as Events are,
// waits in goroutines, and so shows here.
func (r *round) readBusy(ctx context.Context) ([]report.Measurement, error) {
	var all []report.Measurement
	for _, p := range r.meter.processes {
		is, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, measured(p.label+" goroutines when the last of the crowd came", report.Count, report.Median, is.metrics.Goroutines()))
	}
	return all, nil
}

func (r *round) grow(ctx context.Context, to int) error {
	began, from := time.Now(), r.crowd
	progress := r.progress.count(fmt.Sprintf("%s: crowd", r.label), to-from)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(crowdMakers)
	for i := from; i < to && ctx.Err() == nil; i++ {
		group.Go(func() error {
			_, err := r.one(ctx, fmt.Sprintf("crowd-%05d", i), r.crowdStep(i))
			progress.one()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.crowd = to
	took := time.Since(began)
	r.progress.say("%s: crowd of %d, %.1f/s", r.label, to, float64(to-from)/took.Seconds())
	return nil
}

// crowdStep is how the i-th of the crowd comes to be.
func (r *round) crowdStep(i int) step {
	claimed := i%ofClaims == 0
	switch {
	case claimed && r.side == floorSide:
		return step{do: r.claimCold, reached: isClaimed, want: "Ready=True with a Sandbox"}
	case claimed:
		return step{do: r.createClaim, reached: isClaimed, want: "Ready=True with a Sandbox"}
	case r.side == floorSide:
		return step{do: r.createPair, reached: hasReadyPod, want: "a ready Pod"}
	default:
		return step{do: r.createSandbox, reached: isReady, want: "Ready=True"}
	}
}

// claimCold makes a claim, and all that it gets; the stock is for those that are measured.
func (s *scene) claimCold(ctx context.Context, name string) error {
	claim, err := s.makeClaim(ctx, name)
	if err != nil {
		return err
	}
	return s.startCold(ctx, claim)
}

// atRest is what the controllers need with nothing to do, in the order of the meter's.
type atRest struct {
	sandboxes  int
	size, heap []float64 // megabytes
}

// readAtRest tells of the controllers' memory, by the Sandboxes that there are.
func (r *round) readAtRest(ctx context.Context) ([]report.Measurement, error) {
	now := atRest{sandboxes: len(r.tracker.census().sandboxes)}
	for _, p := range r.meter.processes {
		is, err := p.readAtRest(ctx)
		if err != nil {
			return nil, err
		}
		now.size = append(now.size, float64(is.used.Size)/mega)
		now.heap = append(now.heap, is.metrics.Heap()/mega)
	}
	all := []report.Measurement{measured("Sandboxes", report.Count, report.Mean, float64(now.sandboxes))}
	for i, p := range r.meter.processes {
		all = append(all, memoryAtRest(p.label, i, now, r.rests)...)
	}
	r.rests = append(r.rests, now)
	return all, nil
}

// memoryAtRest is what one controller needs, in all and for what came since the last reading.
func memoryAtRest(label string, i int, now atRest, before []atRest) []report.Measurement {
	add := func(name string, value float64) report.Measurement {
		return measured(label+name, report.MegabytesOf, report.Median, value)
	}
	all := []report.Measurement{add(" memory at rest", now.size[i]), add(" heap at rest", now.heap[i])}
	if len(before) == 0 {
		return all
	}
	last := before[len(before)-1]
	each := thousand / float64(now.sandboxes-last.sandboxes)
	return append(all,
		add(" memory at rest, each 1,000 Sandboxes", now.size[i]*thousand/float64(now.sandboxes)),
		add(" memory at rest, each 1,000 more", (now.size[i]-last.size[i])*each),
		add(" heap at rest, each 1,000 more", (now.heap[i]-last.heap[i])*each))
}

// growth is by how much times and CPU are larger than in an earlier phase of the same side.
func growth(all, before []report.Measurement) []report.Measurement {
	const suffix = ", by that among few"
	var grown []report.Measurement
	for _, m := range all {
		name := m.Metric.Name
		if m.Metric.Unit != report.MillisEach && m.Metric.Unit != report.Millis {
			continue
		}
		for _, b := range before {
			if b.Metric == m.Metric && b.Value > 0 {
				grown = append(grown, measured(name+suffix, report.Times, report.Median, m.Value/b.Value))
			}
		}
	}
	return grown
}
