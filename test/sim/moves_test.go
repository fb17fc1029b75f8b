package sim

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// moves are what the controllers of a role could do next: hear of a call, begin a reconcile, see what has changed.
func (w *world) moves(r role) []option {
	var options []option
	if ready := w.ready(r); len(ready) > 0 {
		options = append(options, option{24, func() { w.meet(anyOf(w.rng, ready)) }})
	}
	if dues := w.dues(r); len(dues) > 0 {
		options = append(options, option{16, func() { d := anyOf(w.rng, dues); w.start(d.p, d.q, d.name) }})
	}
	if lagging := w.lagging(r); len(lagging) > 0 {
		options = append(options, option{14, func() { w.deliver(anyOf(w.rng, lagging)) }})
	}
	return options
}

// background are the moves of what is not looked at most: the core, the kubelets, the garbage collector.
func (w *world) background() []option {
	if w.aroundAt != w.store.version {
		w.around, w.aroundAt = w.clusterMoves(), w.store.version
	}
	return append(w.moves(core), w.around...)
}

// due is a reconcile that could begin.
type due struct {
	p    *process
	q    *queue
	name string
}

func (w *world) dues(r role) []due {
	var dues []due
	for _, p := range w.alive(r) {
		for _, q := range p.queues {
			for _, name := range q.ready(w.store.now) {
				dues = append(dues, due{p, q, name})
			}
		}
	}
	return dues
}

// clusterMoves are those of what runs Pods and collects garbage.
func (w *world) clusterMoves() []option {
	var options []option
	if pods := w.podsToRun(); len(pods) > 0 {
		options = append(options, option{8, func() { w.runPod(anyOf(w.rng, pods)) }})
	}
	if garbage := w.garbage(); len(garbage) > 0 {
		options = append(options, option{5, func() { w.collect(anyOf(w.rng, garbage)) }})
	}
	return options
}

// place is the cache of a process.
type place struct {
	p *process
	c *cached
}

func (w *world) lagging(r role) []place {
	var lagging []place
	for _, p := range w.alive(r) {
		for _, c := range p.caches {
			if c != nil && (c.behind() || c.silent()) {
				lagging = append(lagging, place{p, c})
			}
		}
	}
	return lagging
}

// deliver tells a cache, and mostly its handlers with it, some of what it does not know.
func (w *world) deliver(at place) {
	c := at.c
	if c.silent() && w.rng.IntN(2) == 0 {
		l := anyOf(w.rng, c.listeners)
		for l.at < c.at {
			c.tell(l)
		}
		w.note("%s: a handler of %s is told", at.p.id, c.kind)
		return
	}
	for n := 1 + w.rng.IntN(4); n > 0 && c.behind(); n-- {
		c.advance()
	}
	if w.rng.IntN(4) > 0 {
		c.tellAll()
	}
	w.note("%s: the cache of %s is at %d of %d", at.p.id, c.kind, c.at, len(w.store.logs[c.kind]))
}

var errReset = errors.New("read: connection reset by peer")

// meet answers a call, or lets it meet a fault.
func (w *world) meet(c *call) {
	if !c.verb.writes() && c.verb != readVerb || w.rng.IntN(100) >= w.faults {
		w.serve(c)
		return
	}
	w.tally.Faults++
	timeout := timedOut()
	if c.verb == readVerb {
		w.refuse(c, "times out", anyOf(w.rng, []error{timeout, errReset, apierrors.NewInternalError(errReset)}))
		return
	}
	if c.verb == deleteVerb && w.rng.IntN(2) == 0 {
		// What has changed by the time at which a delete lands is what the preconditions are for.
		w.delay(c)
		return
	}
	switch w.rng.IntN(8) {
	case 0, 1:
		w.perform(c)
		w.refuse(c, "takes effect and times out", anyOf(w.rng, []error{timeout, errReset}))
	case 2, 3:
		w.delay(c)
	case 4:
		w.refuse(c, "is lost and times out", timeout)
	case 5:
		w.refuse(c, "is answered by an error", apierrors.NewInternalError(errReset))
	case 6:
		w.note("%s: before it is written", c)
		w.drop(c)
		w.crash(c.by)
	default:
		w.perform(c)
		w.note("%s -> %s, and then", c, outcome(c.err))
		w.drop(c)
		w.crash(c.by)
	}
}

// delay lets a call time out that takes effect at some later moment.
func (w *world) delay(c *call) {
	w.late = append(w.late, c)
	w.ledger.strays(c.by)
	w.refuse(c, "will land late and times out", timedOut())
}

func timedOut() error { return apierrors.NewTimeoutError("the request timed out", 0) }

// refuse answers a call with an error, whatever became of it.
func (w *world) refuse(c *call, how string, err error) {
	w.note("%s %s: %v", c, how, err)
	c.err, c.result = err, nil
	w.answer(c)
}

// land lets a late write take effect.
func (w *world) land() {
	i := w.rng.IntN(len(w.late))
	c := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	again := *c
	again.err, again.result = nil, nil
	w.perform(&again)
	w.note("late: %s -> %s", c, outcome(again.err))
}

// step lets one thing happen, by claims and pools or by the world around them, after some that happen in the background.
func (w *world) step() {
	w.tally.Steps++
	for w.rng.IntN(3) > 0 {
		w.choose(w.background())
	}
	options := append(w.moves(extensions), option{10, w.user}, option{2, func() { w.advanceClock(w.store.now.Add(w.pause())) }})
	if len(w.late) > 0 {
		options = append(options, option{4, w.land})
	}
	for r := range roles {
		alive := w.alive(r)
		switch len(alive) {
		case 0:
			options = append(options, option{12, func() { w.launch(r, mostLag) }})
		case 1:
			if w.faults > 0 {
				options = append(options, option{1, func() { w.crash(alive[0]) }}, option{2 * int(r), func() { w.second(r) }})
			}
		default:
			options = append(options, option{2, func() { w.crash(alive[0]) }})
		}
	}
	w.choose(options)
}

// second makes another process lead while the first goes on.
func (w *world) second(r role) {
	w.ledger.strays(w.alive(r)...)
	w.launch(r, mostLag)
}

// pause is some time.
func (w *world) pause() time.Duration {
	return anyOf(w.rng, []time.Duration{60 * time.Millisecond, 600 * time.Millisecond, 3 * time.Second})
}

// rest lets everything come to rest: one leader, no faults, no users.
func (w *world) rest() {
	w.note("--- no more faults and users")
	w.faults, w.slowReads = 0, false
	for r := range roles {
		for alive := w.alive(r); len(alive) > 1; alive = w.alive(r) {
			w.crash(alive[0])
		}
		if len(w.alive(r)) == 0 {
			w.launch(r, mostLag)
		}
	}
	w.release()
	for range mostMoves {
		if w.broken() {
			return
		}
		options := append(w.moves(extensions), w.background()...)
		if len(w.late) > 0 {
			options = append(options, option{5, w.land})
		}
		if !w.choose(options) && !w.nextTimer() {
			w.checkRest()
			return
		}
	}
	w.fail("it does not come to rest")
}

// longestTimer is how far ahead a timer is still waited for: longer than the pauses before what failed is tried again.
const longestTimer = 2 * time.Minute

// nextTimer goes on to the next moment at which something falls due.
func (w *world) nextTimer() bool {
	var next time.Time
	for _, p := range w.processes {
		if at, ok := p.nextDue(w.store.now); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() || next.Sub(w.store.now) > longestTimer {
		return false
	}
	w.advanceClock(next)
	return true
}
