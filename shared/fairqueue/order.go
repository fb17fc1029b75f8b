package fairqueue

import (
	"container/list"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A namespace may hold one more worker while it holds less than so many for each that is left over: 40 of 50 when it is alone; 13 in
// company, and two hold 10 each. Those left over are for more namespaces, however slow the requests of these turn out. It is not only
// for their turn in this queue: what many workers ask of an API server at the same moment, the request of another namespace waits among.
const (
	alone     = 4.0
	inCompany = 1.0 / 3
)

// rank is how soon a request is served within its namespace.
type rank int

const (
	// changed are requests for what has changed.
	changed rank = iota
	// known are those for what the process has merely come to know: all there is when it begins to lead.
	known
	ranks
)

// order holds the requests that wait. Namespaces take turns; within one, what has changed comes first, and what came first among
// that. Each operation takes constant time, apart from passing over namespaces that hold workers already, of which there are no
// more than workers. It is not safe for concurrent use.
type order struct {
	workers int
	clock   clock.PassiveClock
	// company says who has been here lately.
	company company
	// busy is how many of the workers have something.
	busy int
	// rank is that of what is added next.
	rank       rank
	namespaces map[string]*namespace
	places     map[reconcile.Request]place
	// turns are the namespaces in which something waits, the one that waits longest for its turn first.
	turns list.List
}

// namespace is one in which something waits or is worked on.
type namespace struct {
	waiting [ranks]list.List
	busy    int
	// turn is its place among turns; nil while nothing waits.
	turn *list.Element
}

// place is where a request waits.
type place struct {
	rank    rank
	element *list.Element
}

func newOrder(workers int, clock clock.PassiveClock) *order {
	return &order{workers: workers, clock: clock, namespaces: map[string]*namespace{}, places: map[reconcile.Request]place{}}
}

// Push adds a request that does not wait yet.
func (o *order) Push(request reconcile.Request) {
	o.company.meet(request.Namespace, o.clock.Now())
	n := o.namespaces[request.Namespace]
	if n == nil {
		n = &namespace{}
		o.namespaces[request.Namespace] = n
	}
	o.places[request] = place{o.rank, n.waiting[o.rank].PushBack(request)}
	if n.turn == nil {
		n.turn = o.turns.PushBack(n)
	}
}

// Touch is called for a request that waits and is added once more: it may have become one for what has changed.
func (o *order) Touch(request reconcile.Request) {
	at, waits := o.places[request]
	if !waits || at.rank <= o.rank {
		return
	}
	n := o.namespaces[request.Namespace]
	n.waiting[at.rank].Remove(at.element)
	o.places[request] = place{o.rank, n.waiting[o.rank].PushBack(request)}
}

// Len returns how many requests wait.
func (o *order) Len() int { return len(o.places) }

func (o *order) has(request reconcile.Request) bool {
	_, waits := o.places[request]
	return waits
}

// next is the namespace whose turn it is; nil when nothing waits that a worker may have.
func (o *order) next() *namespace {
	share := alone
	if len(o.namespaces) > 1 || o.company.isThere(o.clock.Now()) {
		share = inCompany
	}
	left := float64(o.workers - o.busy - 1)
	for turn := o.turns.Front(); turn != nil; turn = turn.Next() {
		if n, ok := turn.Value.(*namespace); ok && (n.busy == 0 || float64(n.busy) < share*left) {
			return n
		}
	}
	return nil
}

// Pop hands out the next request, which holds a worker until release. There must be one.
func (o *order) Pop() reconcile.Request {
	n := o.next()
	waiting := &n.waiting[changed]
	if waiting.Len() == 0 {
		waiting = &n.waiting[known]
	}
	request, _ := waiting.Remove(waiting.Front()).(reconcile.Request)
	delete(o.places, request)
	if n.isWaiting() {
		o.turns.MoveToBack(n.turn)
	} else {
		o.turns.Remove(n.turn)
		n.turn = nil
	}
	n.busy++
	o.busy++
	return request
}

// release takes back the worker that a request has held.
func (o *order) release(request reconcile.Request) {
	o.company.meet(request.Namespace, o.clock.Now())
	n := o.namespaces[request.Namespace]
	n.busy--
	o.busy--
	if n.busy == 0 && !n.isWaiting() {
		delete(o.namespaces, request.Namespace)
	}
}

func (n *namespace) isWaiting() bool { return n.waiting[changed].Len()+n.waiting[known].Len() > 0 }
