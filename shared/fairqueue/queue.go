package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is the work queue of a controller in which namespaces take turns. Like controller-runtime's own it serves what has changed
// before what it has merely come to know, here within each namespace: a claim of another namespace that was made while nobody led
// need not wait for all changes of the first. It is safe for concurrent use.
type Queue struct {
	// The limiter paces what is added after a failure.
	workqueue.TypedRateLimiter[reconcile.Request]

	mu sync.Mutex
	// served is signalled when there is something that a worker may have.
	served *sync.Cond
	order  *order
	// waiting knows each request once, whether it waits or is worked on, and keeps the metrics. It takes from order what is next.
	waiting *workqueue.Typed[reconcile.Request]
	// retries adds what has been delayed, and counts it. Its own timers are not used: they cannot be stopped.
	retries workqueue.TypedDelayingInterface[reconcile.Request]
	timers  map[reconcile.Request]*timer
	clock   clock.RealClock
}

// timer adds a request when it is due.
type timer struct {
	due  time.Time
	stop func() bool
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &Queue{}

// New returns a Queue for as many workers, under whose name metrics are kept. It has goroutines that ShutDown ends.
func New(name string, workers int, limiter workqueue.TypedRateLimiter[reconcile.Request]) *Queue {
	q := &Queue{TypedRateLimiter: limiter, order: newOrder(workers, clock.RealClock{}), timers: map[reconcile.Request]*timer{}}
	q.served = sync.NewCond(&q.mu)
	q.waiting = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: q.order})
	q.retries = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: q.waiting})
	return q
}

// Add adds a request at once. One that waits already, or was delayed, is there once; one that is worked on comes again afterwards.
func (q *Queue) Add(request reconcile.Request) { q.add(request, changed) }

func (q *Queue) add(request reconcile.Request, as rank) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopTimer(request)
	q.order.rank = as
	q.waiting.Add(request)
	q.wake()
}

// AddAfter adds a request after a delay, unless it waits already or is to be added sooner.
func (q *Queue) AddAfter(request reconcile.Request, delay time.Duration) {
	if delay <= 0 {
		q.Add(request)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.clock.Now().Add(delay)
	if earlier := q.timers[request]; q.order.has(request) || q.waiting.ShuttingDown() || earlier != nil && !due.Before(earlier.due) {
		return
	}
	q.stopTimer(request)
	t := &timer{due: due}
	q.timers[request] = t
	t.stop = time.AfterFunc(delay, func() { q.fire(request, t) }).Stop
}

// fire adds a request whose time has come, unless its timer was stopped too late to hear of it.
func (q *Queue) fire(request reconcile.Request, t *timer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timers[request] != t {
		return
	}
	delete(q.timers, request)
	q.order.rank = changed
	q.retries.AddAfter(request, 0)
	q.wake()
}

func (q *Queue) stopTimer(request reconcile.Request) {
	if t := q.timers[request]; t != nil {
		t.stop()
		delete(q.timers, request)
	}
}

// AddRateLimited adds a request after the pause that its failures so far call for.
func (q *Queue) AddRateLimited(request reconcile.Request) { q.AddAfter(request, q.When(request)) }

// AddWithOpts is how controller-runtime adds. Less than priority zero has what the process has merely come to know; the priority of
// what is delayed is not kept.
func (q *Queue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	as := changed
	if ptr.Deref(options.Priority, 0) < 0 {
		as = known
	}
	for _, request := range requests {
		switch {
		case options.RateLimited:
			q.AddRateLimited(request)
		case options.After > 0:
			q.AddAfter(request, options.After)
		default:
			q.add(request, as)
		}
	}
}

// Get waits for a request that a worker may have. It is then worked on until Done. After ShutDown nothing is handed out.
func (q *Queue) Get() (request reconcile.Request, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.order.next() == nil && !q.waiting.ShuttingDown() {
		q.served.Wait()
	}
	if q.waiting.ShuttingDown() {
		return reconcile.Request{}, true
	}
	request, _ = q.waiting.Get()
	// What was delayed before is up to this pass.
	q.stopTimer(request)
	q.wake()
	return request, false
}

// GetWithPriority is Get. All that is handed out has the same priority should it be added again.
func (q *Queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, shutdown = q.Get()
	return request, 0, shutdown
}

// Done says that nobody works on a request any more.
func (q *Queue) Done(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order.rank = changed
	q.waiting.Done(request)
	q.order.release(request)
	q.wake()
}

// wake lets one more worker look, which does so in its turn. The caller holds the lock.
func (q *Queue) wake() {
	if q.order.next() != nil {
		q.served.Signal()
	}
}

// Len returns how many requests wait, those that are delayed apart.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.Len()
}

// ShutDown ends the queue.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retries.ShutDown()
	for request := range q.timers {
		q.stopTimer(request)
	}
	q.served.Broadcast()
}

// ShutDownWithDrain is ShutDown: what is worked on is awaited by the controller, which has the workers.
func (q *Queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown says whether ShutDown was called.
func (q *Queue) ShuttingDown() bool { return q.waiting.ShuttingDown() }
