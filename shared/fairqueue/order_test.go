package fairqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// request is the n-th of a namespace.
func request(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
}

func newTestOrder(workers int) *order { return newOrder(workers, clock.RealClock{}) }

func pushAll(o *order, as rank, namespace string, names ...int) {
	o.rank = as
	for _, n := range names {
		o.Push(request(namespace, n))
	}
}

// popAll hands out all that may be, while there are workers.
func popAll(o *order, after func(reconcile.Request)) []string {
	var popped []string
	for o.busy < o.workers && o.next() != nil {
		next := o.Pop()
		popped = append(popped, next.String())
		after(next)
	}
	return popped
}

func TestWhoseTurnItIs(t *testing.T) {
	cases := map[string]struct {
		add  func(*order)
		want []string
	}{
		"what came first, within a namespace": {func(o *order) { pushAll(o, changed, "a", 1, 2, 3) }, []string{"a/1", "a/2", "a/3"}},
		"namespaces in turn": {func(o *order) {
			pushAll(o, changed, "a", 1, 2, 3)
			pushAll(o, changed, "b", 1)
			pushAll(o, changed, "c", 1, 2)
		}, []string{"a/1", "b/1", "c/1", "a/2", "c/2", "a/3"}},
		"what has changed before what is merely known": {func(o *order) {
			pushAll(o, known, "a", 1, 2)
			pushAll(o, changed, "a", 3)
		}, []string{"a/3", "a/1", "a/2"}},
		"what is merely known before what has changed elsewhere, in its turn": {func(o *order) {
			pushAll(o, changed, "a", 1, 2)
			pushAll(o, known, "b", 1)
		}, []string{"a/1", "b/1", "a/2"}},
		"what has changed since it was known": {func(o *order) {
			pushAll(o, known, "a", 1, 2)
			o.rank = changed
			o.Touch(request("a", 2))
		}, []string{"a/2", "a/1"}},
		"what had changed before it was known, where it was": {func(o *order) {
			pushAll(o, changed, "a", 1, 2)
			o.rank = known
			o.Touch(request("a", 1))
		}, []string{"a/1", "a/2"}},
		"nothing that does not wait": {func(o *order) { o.Touch(request("a", 1)) }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := newTestOrder(50)
			tc.add(o)
			if diff := cmp.Diff(tc.want, popAll(o, o.release)); diff != "" {
				t.Errorf("handed out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACrowdDelaysAnotherNamespaceByOneTurn(t *testing.T) {
	o := newTestOrder(50)
	for n := range 10_000 {
		o.Push(request("crowd", n))
	}
	o.release(o.Pop())
	o.Push(request("guest", 1))
	got := []string{o.Pop().String(), o.Pop().String()}
	if diff := cmp.Diff([]string{"crowd/1", "guest/1"}, got); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
}

func TestHowManyWorkersANamespaceHolds(t *testing.T) {
	crowd := func(names ...string) func(*order, *testclock.FakePassiveClock) {
		return func(o *order, _ *testclock.FakePassiveClock) {
			for _, name := range names {
				for n := range 100 {
					o.Push(request(name, n))
				}
			}
		}
	}
	// guest has a crowd come when a request of another namespace is over.
	guest := func(before, crowds, after time.Duration) func(*order, *testclock.FakePassiveClock) {
		return func(o *order, c *testclock.FakePassiveClock) {
			start := c.Now()
			o.Push(request("guest", 2))
			next := o.Pop()
			c.SetTime(start.Add(before))
			o.release(next)
			c.SetTime(start.Add(before + crowds))
			crowd("a")(o, c)
			c.SetTime(start.Add(before + crowds + after))
		}
	}
	cases := map[string]struct {
		workers int
		add     func(*order, *testclock.FakePassiveClock)
		want    map[string]int
	}{
		"the only worker":               {1, crowd("a", "b"), map[string]int{"a": 1}},
		"one of two":                    {2, crowd("a"), map[string]int{"a": 1}},
		"all but one of five":           {5, crowd("a"), map[string]int{"a": 4}},
		"four fifths, alone":            {50, crowd("a"), map[string]int{"a": 40}},
		"less beside others":            {50, crowd("a", "b"), map[string]int{"a": 10, "b": 10}},
		"a quarter, just after a guest": {50, guest(0, 0, companyLasts-1), map[string]int{"a": 13}},
		"a quarter, after a guest whose request took long": {50, guest(time.Minute, time.Second, 0), map[string]int{"a": 13}},
		"a quarter, though it comes after the guest":       {50, guest(0, companyLasts-1, 0), map[string]int{"a": 13}},
		"four fifths, long after a guest":                  {50, guest(0, 0, companyLasts), map[string]int{"a": 40}},
		"one each, if there are many":                      {9, crowd("a", "b", "c", "d", "e", "f"), map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}},
		"one each, as long as there are any":               {4, crowd("a", "b", "c", "d", "e"), map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := testclock.NewFakePassiveClock(time.Unix(1, 0))
			o := newOrder(tc.workers, c)
			tc.add(o, c)
			holds := map[string]int{}
			popAll(o, func(r reconcile.Request) { holds[r.Namespace]++ })
			if diff := cmp.Diff(tc.want, holds); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			if guest := request("guest", 1); o.busy < tc.workers {
				o.Push(guest)
				if o.next() == nil || o.Pop() != guest {
					t.Error("a namespace that holds none finds no worker")
				}
			}
		})
	}
}

func TestACrowdGivesWorkersBackWhenAGuestComes(t *testing.T) {
	o := newTestOrder(50)
	for n := range 100 {
		o.Push(request("crowd", n))
	}
	var held []reconcile.Request
	popAll(o, func(r reconcile.Request) { held = append(held, r) })
	guest := request("guest", 1)
	o.Push(guest)
	if got := o.Pop(); got != guest {
		t.Fatalf("%s was handed out before the guest", got)
	}
	o.release(guest)
	for len(held) > 0 && o.next() == nil {
		o.release(held[0])
		held = held[1:]
	}
	if len(held) != 12 {
		t.Errorf("the crowd is served again while it holds %d workers, want 12", len(held))
	}
}

func TestNothingIsKeptOfANamespaceThatIsEmpty(t *testing.T) {
	o := newTestOrder(50)
	for n := range 10_000 {
		o.rank = rank(n % int(ranks))
		o.Push(request(fmt.Sprint(n%100), n))
	}
	if got := len(popAll(o, o.release)); got != 10_000 {
		t.Errorf("%d were handed out", got)
	}
	if o.Len()+len(o.namespaces)+len(o.places)+o.turns.Len()+o.busy != 0 {
		t.Errorf("kept %d namespaces, %d places, %d turns, %d busy workers", len(o.namespaces), len(o.places), o.turns.Len(), o.busy)
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, namespaces := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(namespaces), func(b *testing.B) {
			o := newTestOrder(50)
			for n := range 10_000 {
				o.Push(request(fmt.Sprint(n%namespaces), n))
			}
			for b.Loop() {
				next := o.Pop()
				o.release(next)
				o.Push(next)
			}
		})
	}
}
