package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	corecontrollers "sigs.k8s.io/agent-sandbox/core/cmd/controller/controllers"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

// role is which controllers a process runs.
type role int

const (
	core role = iota
	extensions
	roles
)

func (r role) String() string { return [...]string{"core", "extensions"}[r] }

// process is one replica that leads, or believes so.
type process struct {
	id      string
	role    role
	world   *world
	ctx     context.Context
	cancel  context.CancelFunc
	caches  [kinds]*cached
	indexes [kinds]map[string]client.IndexerFunc
	// written are the versions of what was written last, by name.
	written [kinds]map[string]int64
	queues  []*queue
	// needed is how far each cache must have come for the barrier, which was passed when it is no longer to be waited for.
	needed map[kind]int
	passed bool
	// picked are the members that were handed out and that no event has told of since, won those of them that a commit has taken.
	picked   map[types.UID]bool
	won      map[types.UID]bool
	suffixes *rand.Rand
}

// queue is a controller's.
type queue struct {
	name      string
	first     time.Duration
	reconcile func(context.Context, reconcile.Request) (reconcile.Result, error)
	// due says when each name is to be looked at.
	due      map[string]time.Time
	running  map[string]*run
	failures map[string]int
}

// run is one reconcile under way.
type run struct {
	by    *process
	queue *queue
	name  string
	// terminating are the Sandboxes that the cache showed on their way out when it began, by name.
	terminating map[string]types.UID
	// replicas is the size of the pool that the cache showed when it began, after poolsSeen changes of pools.
	replicas  int
	poolsSeen int
	result    reconcile.Result
	err       error
}

func (r *run) String() string { return r.queue.name + "/" + r.name }

func newQueue(name string, first time.Duration, by func(context.Context, reconcile.Request) (reconcile.Result, error)) *queue {
	return &queue{name: name, first: first, reconcile: by, due: map[string]time.Time{}, running: map[string]*run{}, failures: map[string]int{}}
}

// add makes a name due at a time, unless it is sooner anyway.
func (q *queue) add(name string, at time.Time) {
	if old, ok := q.due[name]; !ok || at.Before(old) {
		q.due[name] = at
	}
}

// ready are the names that could be looked at now.
func (q *queue) ready(now time.Time) []string {
	var names []string
	for name, at := range q.due {
		if !at.After(now) && q.running[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// finish does what the queue of a controller does after a reconcile.
func (q *queue) finish(r *run, now time.Time) {
	delete(q.running, r.name)
	if r.err != nil {
		pause := min(q.first<<min(q.failures[r.name], 20), time.Minute)
		q.failures[r.name]++
		q.add(r.name, now.Add(pause))
		return
	}
	delete(q.failures, r.name)
	if r.result.RequeueAfter > 0 {
		q.add(r.name, now.Add(r.result.RequeueAfter))
	}
}

// newProcess starts one with caches that may lag behind by as many changes.
func newProcess(w *world, r role, lag int) *process {
	w.born++
	p := &process{
		id: fmt.Sprintf("%s%d", r, w.born), role: r, world: w, needed: map[kind]int{}, won: map[types.UID]bool{}, picked: map[types.UID]bool{},
		suffixes: rand.New(rand.NewPCG(uint64(w.seed), uint64(w.born))),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	watched := []kind{sandboxKind, podKind, volumeKind, serviceKind}
	if r == extensions {
		watched = []kind{sandboxKind, claimKind, poolKind, templateKind}
	}
	for _, k := range watched {
		log := w.store.logs[k]
		at := len(log)
		if lag > 0 {
			at = max(0, at-w.rng.IntN(lag+1))
		}
		p.caches[k] = newCached(w.store, k, at)
		p.indexes[k] = map[string]client.IndexerFunc{}
		p.written[k] = map[string]int64{}
	}
	for _, k := range []kind{sandboxKind, claimKind} {
		p.needed[k] = lastThatStands(w.store, k)
	}
	if r == core {
		p.runCore()
	} else {
		p.runExtensions()
	}
	return p
}

// lastThatStands is up to where a cache must come to show every object that exists as it is.
func lastThatStands(s *store, k kind) int {
	log := s.logs[k]
	for i := len(log) - 1; i >= 0; i-- {
		if after := log[i].after; after != nil && s.objects[k][after.GetName()] == after {
			return i + 1
		}
	}
	return 0
}

// clock is that of the simulation.
type simClock struct{ world *world }

func (c simClock) Now() time.Time                  { return c.world.store.now }
func (c simClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (p *process) wakeAll(q *queue, requests []reconcile.Request) {
	for _, request := range requests {
		q.add(request.Name, p.world.store.now)
	}
}

// passes says whether a predicate lets a change through.
func passes(before, after client.Object, update func(event.UpdateEvent) bool) bool {
	return before == nil || after == nil || update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
}

func specChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
}

// either is the object as it is, or as it was when it is gone.
func either(before, after client.Object) client.Object {
	if after != nil {
		return after
	}
	return before
}

func (p *process) runCore() {
	controller, err := corecontrollers.New(corecontrollers.Surroundings{
		Client: api{by: p}, Live: live{by: p}, Events: events.Discard(), Clock: simClock{p.world},
		Metrics: prometheus.NewRegistry(), Tracer: noop.NewTracerProvider().Tracer(""),
	}, corecontrollers.Settings{ClusterDomain: "cluster.local"})
	if err != nil {
		p.world.fail("making the core: %v", err)
		return
	}
	for _, index := range corecontrollers.Indexes() {
		p.indexes[kindOf(index.Of)][index.Name] = index.By
	}
	q := newQueue("sandboxes", 20*time.Millisecond, controller.Reconcile)
	p.queues = []*queue{q}
	p.caches[sandboxKind].listen(func(before, after client.Object) {
		if passes(before, after, controller.Wakes().Update) {
			q.add(either(before, after).GetName(), p.world.store.now)
		}
	})
	byOwner := func(before, after client.Object) {
		for _, obj := range []client.Object{before, after} {
			if obj != nil {
				p.wakeAll(q, controller.ByOwnerOrOwnName(p.ctx, obj))
			}
		}
	}
	p.caches[podKind].listen(byOwner)
	p.caches[serviceKind].listen(byOwner)
	p.caches[volumeKind].listen(func(before, after client.Object) {
		p.wakeAll(q, corecontrollers.ByOwnerName(p.ctx, either(before, after)))
	})
}

// gate is the barrier of a new leader.
type gate struct{ by *process }

func (g gate) Wait(ctx context.Context) error {
	if g.by.passed {
		return ctx.Err()
	}
	return g.by.ask(ctx, &call{verb: barrierVerb, kind: noKind})
}

func (p *process) suffix(length int) string {
	letters := make([]byte, length)
	for i := range letters {
		letters[i] = "bcdfghjklmnpqrstvwxz2456789"[p.suffixes.IntN(27)]
	}
	return string(letters)
}

func (p *process) runExtensions() {
	members := controllers.NewCandidates()
	both := controllers.New(members, controllers.Surroundings{
		Client: api{by: p}, Live: live{by: p}, ClaimEvents: events.Discard(), PoolEvents: events.Discard(),
		Clock: simClock{p.world}, Barrier: gate{p}, Suffix: p.suffix, Tracer: noop.NewTracerProvider().Tracer(""),
		Members: func(c *controllers.Candidates) controllers.Members { return watchful(p, c) },
	}, p.world.settings)
	for _, index := range controllers.Indexes() {
		p.indexes[kindOf(index.Of)][index.Name] = index.By
	}
	claims := newQueue("claims", 20*time.Millisecond, both.Claims.Reconcile)
	pools := newQueue("pools", 100*time.Millisecond, both.Pools.Reconcile)
	p.queues = []*queue{claims, pools}
	p.listenToSandboxes(members, both, claims, pools)
	p.caches[claimKind].listen(func(before, after client.Object) {
		if passes(before, after, both.Claims.ClaimChanged) {
			claims.add(either(before, after).GetName(), p.world.store.now)
		}
		if after == nil || before != nil && controllers.Served(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
			p.wakeAll(pools, controllers.PoolOfClaim(p.ctx, either(before, after)))
		}
	})
	p.caches[poolKind].listen(func(before, after client.Object) {
		if after == nil {
			both.Pools.Forget(before.GetUID())
		}
		if after != nil && passes(before, after, both.Pools.PoolChanged) {
			pools.add(after.GetName(), p.world.store.now)
		}
		if passes(before, after, specChanged) {
			p.wakeAll(claims, both.Claims.ThoseOfPool(p.ctx, either(before, after)))
		}
	})
	p.caches[templateKind].listen(func(before, after client.Object) {
		if passes(before, after, specChanged) {
			p.wakeAll(pools, both.Pools.ThoseOfTemplate(p.ctx, either(before, after)))
			p.wakeAll(claims, both.Claims.ThoseOfTemplate(p.ctx, either(before, after)))
		}
	})
}

// listenToSandboxes feeds the members that can be taken, and wakes claims and pools.
func (p *process) listenToSandboxes(members *controllers.Candidates, both controllers.Controllers, claims, pools *queue) {
	p.caches[sandboxKind].listen(func(before, after client.Object) {
		delete(p.won, either(before, after).GetUID())
		delete(p.picked, either(before, after).GetUID())
		if after == nil {
			members.Forget(before.GetUID())
			return
		}
		members.ObserveSandbox(after.(*sandboxv1beta1.Sandbox))
		both.Pools.SeeMember(after)
	})
	p.caches[sandboxKind].listen(func(before, after client.Object) {
		was, _ := before.(*sandboxv1beta1.Sandbox)
		is, _ := after.(*sandboxv1beta1.Sandbox)
		p.wakeAll(claims, both.Claims.WokenBy(p.ctx, was, is))
		for _, sandbox := range []*sandboxv1beta1.Sandbox{was, is} {
			if pool := ownerOf(sandbox, extensionsv1beta1.SandboxWarmPoolKind); pool != nil {
				pools.add(pool.Name, p.world.store.now)
			}
		}
	})
}

// begin starts a reconcile.
func (p *process) begin(q *queue, name string) {
	delete(q.due, name)
	r := &run{by: p, queue: q, name: name, terminating: map[string]types.UID{}}
	for name, obj := range p.caches[sandboxKind].objects {
		if obj.GetDeletionTimestamp() != nil {
			r.terminating[name] = obj.GetUID()
		}
	}
	if p.role == extensions {
		if pool, ok := p.caches[poolKind].objects[name].(*extensionsv1beta1.SandboxWarmPool); ok {
			r.replicas, r.poolsSeen = int(*pool.Spec.Replicas), p.caches[poolKind].at
		}
	}
	q.running[name] = r
	ctx := context.WithValue(p.ctx, runKey{}, r)
	go func() {
		r.result, r.err = q.reconcile(ctx, reconcile.Request{NamespacedName: key(name)})
		p.world.done(r)
	}()
}

// nextDue is when a queue has something to do that it has not now.
func (p *process) nextDue(now time.Time) (time.Time, bool) {
	var next time.Time
	for _, q := range p.queues {
		for _, name := range slices.Sorted(maps.Keys(q.due)) {
			if at := q.due[name]; at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next, !next.IsZero()
}
