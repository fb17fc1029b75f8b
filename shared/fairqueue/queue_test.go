package fairqueue

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

const pause = time.Second

func newTestQueue(workers int) *Queue {
	return New("", workers, workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](pause, time.Minute))
}

// taken is what waits in a queue, each handed out and given back.
func taken(q *Queue) []string {
	var names []string
	for q.Len() > 0 {
		next, _ := q.Get()
		names = append(names, next.String())
		q.Done(next)
	}
	return names
}

func TestWhatIsHandedOut(t *testing.T) {
	low := handler.LowPriority
	one, two := request("a", 1), request("a", 2)
	cases := map[string]struct {
		add  func(*Queue)
		want []string
	}{
		"once what is added twice":            {func(q *Queue) { q.Add(one); q.Add(two); q.Add(one) }, []string{"a/1", "a/2"}},
		"nothing before its delay is over":    {func(q *Queue) { q.AddAfter(one, 2*pause) }, nil},
		"what is due":                         {func(q *Queue) { q.AddAfter(one, pause) }, []string{"a/1"}},
		"what is not delayed":                 {func(q *Queue) { q.AddAfter(one, 0) }, []string{"a/1"}},
		"what is due sooner after all":        {func(q *Queue) { q.AddAfter(one, 2*pause); q.AddAfter(one, pause) }, []string{"a/1"}},
		"what is due sooner anyway":           {func(q *Queue) { q.AddAfter(one, pause); q.AddAfter(one, 2*pause) }, []string{"a/1"}},
		"once what waits and is delayed":      {func(q *Queue) { q.AddAfter(one, pause); q.Add(one); taken(q) }, nil},
		"once what waited when it is delayed": {func(q *Queue) { q.Add(one); q.AddAfter(one, pause); taken(q) }, nil},
		"what failed, after a pause":          {func(q *Queue) { q.AddRateLimited(one) }, []string{"a/1"}},
		"what failed twice, after a longer":   {func(q *Queue) { q.When(one); q.AddRateLimited(one) }, nil},
		"first what has changed": {func(q *Queue) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, one)
			q.AddWithOpts(priorityqueue.AddOpts{}, two)
		}, []string{"a/2", "a/1"}},
		"what is delayed with a priority": {func(q *Queue) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low, After: pause / 2}, one)
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low, RateLimited: true}, two)
		}, []string{"a/1", "a/2"}},
		"again what was added while it was worked on": {func(q *Queue) {
			q.Add(one)
			q.Get()
			q.Add(one)
			q.Add(two)
			if next, _ := q.Get(); next != two {
				t.Errorf("%s is worked on by two", next)
			}
			q.Done(two)
			q.Done(one)
		}, []string{"a/1"}},
		"not what was delayed before it was worked on": {func(q *Queue) {
			q.Add(one)
			q.Get()
			q.AddAfter(one, pause)
			q.Add(one)
			q.Done(one)
			taken(q)
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue(50)
				defer q.ShutDown()
				tc.add(q)
				// In the bubble, this takes no time and ends when all timers of the pause have fired.
				<-time.After(pause + pause/2)
				synctest.Wait()
				if diff := cmp.Diff(tc.want, taken(q)); diff != "" {
					t.Errorf("handed out (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A namespace whose every reconcile hangs leaves workers to others.
func TestASlowNamespaceLeavesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(50)
		stuck, served := make(chan struct{}), make(chan reconcile.Request, 10)
		var workers sync.WaitGroup
		for range 50 {
			workers.Go(func() {
				for next, shutdown := q.Get(); !shutdown; next, shutdown = q.Get() {
					if next.Namespace == "crowd" {
						<-stuck
					} else {
						served <- next
					}
					q.Done(next)
				}
			})
		}
		for n := range 10_000 {
			q.Add(request("crowd", n))
		}
		synctest.Wait()
		for n := range 10 {
			q.Add(request("guest", n))
		}
		synctest.Wait()
		if len(served) != 10 {
			t.Errorf("%d of 10 are served beside a namespace that hangs", len(served))
		}
		close(stuck)
		synctest.Wait()
		if q.Len() != 0 {
			t.Errorf("%d are left", q.Len())
		}
		q.ShutDown()
		workers.Wait()
	})
}

// Whatever is added is worked on afterwards, by one worker at a time, and leaves nothing behind.
func TestManyAtOnce(t *testing.T) {
	const workers, namespaces, names = 20, 7, 50
	q := newTestQueue(workers)
	var added, seen [namespaces][names]atomic.Int64
	var working [namespaces][names]atomic.Bool
	var left atomic.Int64
	left.Store(namespaces * names)
	var crew, adding sync.WaitGroup
	for range workers {
		crew.Go(func() {
			for next, shutdown := q.Get(); !shutdown; next, shutdown = q.Get() {
				var i, n int
				if _, err := fmt.Sscan(next.Namespace+" "+next.Name, &i, &n); err != nil {
					t.Error(err)
				}
				if working[i][n].Swap(true) {
					t.Errorf("%s is worked on by two", next)
				}
				now := added[i][n].Load()
				if before := seen[i][n].Swap(now); before < 40 && now == 40 {
					left.Add(-1)
				}
				working[i][n].Store(false)
				q.Done(next)
			}
		})
	}
	for i := range namespaces {
		adding.Go(func() {
			for n := range 40 * names {
				added[i][n%names].Add(1)
				if n%3 == 0 {
					q.AddAfter(request(fmt.Sprint(i), n%names), time.Microsecond)
				} else {
					q.Add(request(fmt.Sprint(i), n%names))
				}
			}
		})
	}
	adding.Wait()
	testkit.Eventually(t, "all is looked at after it was added last, and nothing is kept", func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		if left.Load()+int64(q.order.Len()+len(q.order.namespaces)+len(q.timers)) != 0 {
			return fmt.Errorf("%d were not looked at; kept %d requests, %d namespaces, %d timers", left.Load(), q.order.Len(), len(q.order.namespaces), len(q.timers))
		}
		return nil
	})
	q.ShutDown()
	crew.Wait()
}

func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(2)
		var workers sync.WaitGroup
		workers.Go(func() {
			if next, shutdown := q.Get(); !shutdown {
				t.Errorf("%s was handed out", next)
			}
		})
		synctest.Wait()
		q.AddAfter(request("a", 1), pause)
		q.ShutDownWithDrain()
		workers.Wait()
		q.Add(request("a", 2))
		q.AddAfter(request("a", 3), pause)
		if next, shutdown := q.Get(); !shutdown || !q.ShuttingDown() || len(q.timers) != 0 {
			t.Errorf("after the end: handed out %s, %v; %d timers", next, shutdown, len(q.timers))
		}
	})
}

// metricsOf are those of the queue of that name, of histograms how much was observed.
func metricsOf(t *testing.T, queue string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "name" && label.GetValue() == queue {
					values[family.GetName()] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return values
}

// What dashboards read of a work queue stays.
func TestMetrics(t *testing.T) {
	q := New("fair", 2, workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Minute))
	defer q.ShutDown()
	got := metricsOf(t, "fair")
	for name, before := range got {
		got[name] = -before
	}
	q.AddRateLimited(request("a", 1))
	next, _ := q.Get()
	q.Done(next)
	q.Add(request("a", 1))
	q.Add(request("a", 2))
	for name, after := range metricsOf(t, "fair") {
		got[name] += after
	}
	want := map[string]float64{
		"workqueue_depth": 2, "workqueue_adds_total": 3, "workqueue_retries_total": 1, "workqueue_queue_duration_seconds": 1,
		"workqueue_work_duration_seconds": 1, "workqueue_unfinished_work_seconds": 0, "workqueue_longest_running_processor_seconds": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
