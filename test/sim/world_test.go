package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
)

const (
	// steps is how many a schedule has before it is left to come to rest.
	steps = 60
	// mostMoves is how many more it may take until nothing happens any more.
	mostMoves = 3000
	// mostLag is how many changes a new process's list may lag behind.
	mostLag = 8
)

// tally counts what happened.
type tally struct {
	Schedules, Steps, Calls, Faults, Crashes, Leaders, Adoptions, ColdStarts, Discards int
}

func (t *tally) add(o tally) {
	t.Schedules += o.Schedules
	t.Steps += o.Steps
	t.Calls += o.Calls
	t.Faults += o.Faults
	t.Crashes += o.Crashes
	t.Leaders += o.Leaders
	t.Adoptions += o.Adoptions
	t.ColdStarts += o.ColdStarts
	t.Discards += o.Discards
}

// world is one schedule.
type world struct {
	seed      int64
	rng       *rand.Rand
	mutant    mutant
	store     *store
	settings  controllers.Settings
	processes []*process
	born      int
	// faults is the share of writes, in percent, that meet a fault.
	faults int
	// slowReads makes every read that could wait a call of its own.
	slowReads bool
	late      []*call
	// around is what the cluster could do next, as of a version of the store.
	around   []option
	aroundAt int64
	current  *call
	ledger   ledger
	tally    tally

	mu       sync.Mutex
	pending  []*call
	finished []*run
	breach   string

	traced bool
	trace  []string
}

// fail records the first thing that must not happen.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.breach == "" {
		w.breach = fmt.Sprintf(format, args...)
		w.note("BREACH: %s", w.breach)
	}
}

func (w *world) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.breach != ""
}

func (w *world) note(format string, args ...any) {
	if w.traced {
		w.trace = append(w.trace, fmt.Sprintf("%s %s", w.store.now.Format("04:05.000"), fmt.Sprintf(format, args...)))
	}
}

func (w *world) submit(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, c)
}

func (w *world) done(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished = append(w.finished, r)
}

// underWay are the unanswered writes of a process to an object, or to all of a kind.
func (p *process) underWay(k kind, name string) []*call {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	var writes []*call
	for _, c := range p.world.pending {
		if c.by == p && c.verb.writes() && c.kind == k && (name == "" || c.name == name) {
			writes = append(writes, c)
		}
	}
	return writes
}

// settle waits until every controller waits for something, and takes in the reconciles that have ended.
func (w *world) settle() {
	synctest.Wait()
	w.mu.Lock()
	finished := w.finished
	w.finished = nil
	slices.SortFunc(w.pending, func(a, b *call) int { return cmp.Compare(a.key(), b.key()) })
	w.mu.Unlock()
	for _, r := range finished {
		if r.by.ctx.Err() != nil {
			continue
		}
		r.queue.finish(r, w.store.now)
		if w.traced {
			w.note("  %s %s/%s ends: %v %v", r.by.id, r.queue.name, r.name, r.result.RequeueAfter, r.err)
		}
	}
}

// perform carries a call out at the API server.
func (w *world) perform(c *call) {
	w.current = c
	defer func() { w.current = nil }()
	switch c.verb {
	case createVerb:
		c.result, c.err = w.store.create(c.by, c.obj)
	case patchVerb:
		c.result, c.err = w.store.patch(c.by, c.patch)
	case deleteVerb:
		c.result, c.err = w.store.delete(c.by, c.kind, c.name, c.delete)
	case readVerb:
		c.result, c.err = w.store.get(c.kind, c.name)
	case awaitVerb:
		c.by.caches[c.kind].catchUp(c.by.lastWrite(c.kind, c.name))
	case barrierVerb:
		for _, k := range []kind{sandboxKind, claimKind} {
			for cache := c.by.caches[k]; cache.at < c.by.needed[k]; {
				cache.advance()
			}
		}
		c.by.passed = true
	}
	if c.err == nil && c.verb.writes() {
		version := w.store.version
		if c.result != nil {
			version = versionOf(c.result)
		}
		c.version = version
	}
}

// answer lets the controller go on that made the call.
func (w *world) answer(c *call) {
	w.tally.Calls++
	if c.err == nil && c.verb.writes() {
		c.by.written[c.kind][c.name] = max(c.version, c.by.written[c.kind][c.name])
		w.noteWon(c)
	}
	w.drop(c)
	c.answered = true
	close(c.done)
	w.settle()
}

// drop takes a call out of those that wait.
func (w *world) drop(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = slices.DeleteFunc(w.pending, func(other *call) bool { return other == c })
}

// ready are the calls of a role that could be answered now.
func (w *world) ready(r role) []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ready []*call
	for _, c := range w.pending {
		if c.by.role == r && c.ready() {
			ready = append(ready, c)
		}
	}
	return ready
}

// serve carries out a call and answers it.
func (w *world) serve(c *call) {
	w.perform(c)
	w.note("%s -> %s", c, outcome(c.err))
	w.answer(c)
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// start begins a reconcile that is due.
func (w *world) start(p *process, q *queue, name string) {
	w.note("%s %s/%s begins", p.id, q.name, name)
	p.begin(q, name)
	w.settle()
}

func (w *world) launch(r role, lag int) {
	p := newProcess(w, r, lag)
	w.processes = append(w.processes, p)
	w.tally.Leaders++
	w.note("%s leads", p.id)
}

func (w *world) alive(r role) []*process {
	var alive []*process
	for _, p := range w.processes {
		if p.role == r {
			alive = append(alive, p)
		}
	}
	return alive
}

// crash ends a process. What it has asked for is lost, or lands late.
func (w *world) crash(p *process) {
	w.note("%s crashes", p.id)
	w.tally.Crashes++
	w.processes = slices.DeleteFunc(w.processes, func(other *process) bool { return other == p })
	w.mu.Lock()
	pending := w.pending
	w.pending = nil
	for _, c := range pending {
		if c.by != p {
			w.pending = append(w.pending, c)
		} else if c.verb.writes() && w.rng.IntN(4) == 0 {
			w.late = append(w.late, c)
			w.ledger.strays(p)
		}
	}
	w.mu.Unlock()
	p.cancel()
	w.settle()
}

// close ends every process, so that no goroutine is left.
func (w *world) close() {
	for _, p := range w.processes {
		p.cancel()
	}
	synctest.Wait()
}

// option is something that could happen next.
type option struct {
	weight int
	do     func()
}

// choose lets one of the options happen.
func (w *world) choose(options []option) bool {
	total := 0
	for _, o := range options {
		total += o.weight
	}
	if total == 0 {
		return false
	}
	pick := w.rng.IntN(total)
	for _, o := range options {
		if pick -= o.weight; pick < 0 {
			o.do()
			return true
		}
	}
	return false
}

// advanceClock goes on to a moment.
func (w *world) advanceClock(to time.Time) {
	w.store.now = to
	w.note("the clock advances")
}

// anyOf picks one of several; there must be one.
func anyOf[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }
