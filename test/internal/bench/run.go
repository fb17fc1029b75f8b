package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

// Run brings up what is needed, runs the chosen cases, and leaves everything as it was. It fails when something could
// not be measured, or when a count is wrong; never because something was slow. Whole cases are reported all the same.
func Run(ctx context.Context, o Options) (report.Report, error) {
	if err := o.validate(); err != nil {
		return report.Report{}, err
	}
	p := progress{out: o.Progress}
	e := &environment{}
	r, err := run(ctx, e, o, p)
	p.say("cleaning up")
	return r, errors.Join(err, e.leave(ctx))
}

func run(ctx context.Context, e *environment, o Options, p progress) (report.Report, error) {
	chosen, err := choose(o.Cases)
	if err != nil {
		return report.Report{}, err
	}
	o = o.withRoom(chosen)
	if err := e.prepare(ctx, o, p); err != nil {
		return report.Report{}, err
	}
	r := report.Report{}
	if r.Setting, err = e.setting(ctx, o); err != nil {
		return r, err
	}
	for _, b := range chosen {
		c, err := e.compare(ctx, b, o, p)
		if err != nil {
			return r, fmt.Errorf("case %s: %w", b.name, err)
		}
		r.Cases = append(r.Cases, c)
	}
	return r, errors.Join(e.wrong...)
}

// compare gives each side its turns, alternating, so that what the machine does otherwise hits both.
func (e *environment) compare(ctx context.Context, b benchmark, o Options, p progress) (report.Case, error) {
	c := report.Case{Name: b.name, Summary: b.summary, Floor: b.floor, Ours: b.ours}
	phases := b.phases(&scene{clients: e.clients, load: b.load(o)})
	found := map[side][]map[string][]report.Measurement{}
	for i := range o.Rounds {
		label := fmt.Sprintf("round %d of %d", i+1, o.Rounds)
		load, err := e.loadOf(ctx, b, turn{environment: e, options: o, progress: p, label: label})
		if err != nil {
			return c, err
		}
		for _, side := range []side{floorSide, oursSide} {
			t := turn{environment: e, benchmark: b, side: side, load: load, options: o, progress: p}
			t.label = fmt.Sprintf("%s, %s", label, side)
			measured, err := t.take(ctx)
			if err != nil {
				return c, err
			}
			found[side] = append(found[side], measured)
		}
	}
	for _, phase := range phases {
		c.Phases = append(c.Phases, report.Compare(phase.name, of(phase, found[floorSide]), of(phase, found[oursSide])))
	}
	return c, nil
}

// loadOf is the load of the round that comes, which may follow from what other benchmarks show before it.
func (e *environment) loadOf(ctx context.Context, b benchmark, t turn) (load, error) {
	l := b.load(t.options)
	if len(b.against) == 0 {
		return l, nil
	}
	var found []float64
	round := t.label
	for _, y := range b.against {
		t.benchmark, t.side = y.of(), y.side
		t.label = fmt.Sprintf("before %s of %s, %s", round, b.name, y.side)
		t.load = t.benchmark.load(t.options)
		measured, err := t.take(ctx)
		if err != nil {
			return l, err
		}
		value, err := y.read(measured[t.benchmark.phases(&scene{})[0].name])
		if err != nil {
			return l, fmt.Errorf("%s: %w", t.label, err)
		}
		t.progress.say("%s: %s of %s is %.1f", t.label, y.metric, t.benchmark.name, value)
		found = append(found, value)
	}
	l = b.fit(l, found)
	if room := t.options.room(); l.pods() > room {
		return l, fmt.Errorf("%s: %d Pods at most, and there is room for %d; shorten --duration, or see --nodes", b.name, l.pods(), room)
	}
	t.progress.say("%s, %s: %d objects, one every %s", b.name, round, l.count, l.every.Round(time.Microsecond))
	return l, nil
}

func (y yardstick) read(all []report.Measurement) (float64, error) {
	for _, m := range all {
		if m.Metric.Name == y.metric && m.Value > 0 {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("no %s was measured", y.metric)
}

func of(p phase, rounds []map[string][]report.Measurement) [][]report.Measurement {
	var all [][]report.Measurement
	for _, round := range rounds {
		all = append(all, round[p.name])
	}
	return all
}

// turn is one round of one side, with all that comes before and after.
type turn struct {
	*environment
	benchmark benchmark
	side      side
	load      load
	label     string
	options   Options
	progress  progress
}

// take returns what each phase has shown. Every turn of ours has a controller of its own, so that its memory and its
// metrics begin anew; and every turn begins with a few objects that nobody measures, for connections and caches to be
// there.
func (t turn) take(ctx context.Context) (map[string][]report.Measurement, error) {
	if t.side == floorSide {
		return t.with(ctx, nil)
	}
	inTime, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running, err := t.startAll(ctx, t.benchmark.controllers)
	var results map[string][]report.Measurement
	if err == nil {
		for _, p := range running {
			go cancelAtEnd(inTime, p, cancel)
		}
		results, err = t.with(inTime, running)
	}
	cancel(nil)
	stopped := stopAll(context.WithoutCancel(ctx), running)
	if err != nil {
		return nil, err // what came first says more
	}
	return results, stopped
}

// with takes the turn beside the controllers that run.
func (t turn) with(ctx context.Context, running []process) (map[string][]report.Measurement, error) {
	tracker, err := startTracker(ctx, t.clients)
	if err != nil {
		return nil, err
	}
	defer tracker.close()
	meter, err := t.newMeter(running)
	if err != nil {
		return nil, err
	}
	s := &scene{clients: t.clients, load: t.load, tracker: tracker, stock: &stock{}, progress: t.progress}
	return t.phasesOf(ctx, &round{scene: s, side: t.side, meter: meter})
}

func (t turn) phasesOf(ctx context.Context, r *round) (map[string][]report.Measurement, error) {
	r.label = t.label + ", warming up"
	r.names = objectNames("warm", r.load.warmUp())
	if err := t.benchmark.prepare(ctx, r.scene, r.side); err != nil {
		return nil, fmt.Errorf("%s: %w", r.label, err)
	}
	phases := t.benchmark.phases(r.scene)
	if _, err := r.drive(ctx, phases[0]); err != nil {
		return nil, fmt.Errorf("%s: %w", r.label, err)
	}
	if err := t.benchmark.recover(ctx, r); err != nil {
		return nil, fmt.Errorf("%s: %w", r.label, err)
	}
	r.label = fmt.Sprintf("%s, %s", t.benchmark.name, t.label)
	r.found = map[string][]report.Measurement{}
	for _, p := range phases {
		before, err := r.begin(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s, before %s: %w", r.label, p.name, err)
		}
		measured, wrong, err := r.measure(ctx, p)
		if err != nil {
			return nil, err
		}
		t.wrong = append(t.wrong, wrong...)
		r.found[p.name] = slices.Concat(measured, before)
	}
	return r.found, r.clear(ctx)
}

func objectNames(prefix string, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("%s-%05d", prefix, i))
	}
	return all
}
