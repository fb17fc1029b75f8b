package usage

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestReconciles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="sandbox",result="success"} 7
controller_runtime_reconcile_total{controller="sandbox",result="requeue_after"} 2
controller_runtime_reconcile_total{controller="claim",result="success"} 100
# TYPE go_memstats_heap_alloc_bytes gauge
go_memstats_heap_alloc_bytes 1.5e+06
# TYPE go_goroutines gauge
go_goroutines 12
`)
	}))
	defer server.Close()
	for _, tt := range []struct {
		name, path, controller string
		want, heap             float64
		fails                  bool
	}{
		{"all results of one controller", "/metrics", "sandbox", 9, 1.5e6, false},
		{"a controller that has done nothing", "/metrics", "pool", 0, 1.5e6, false},
		{"no metrics there", "/", "sandbox", 0, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Scrape(t.Context(), server.URL+tt.path)
			if got.Reconciles(tt.controller) != tt.want || got.Heap() != tt.heap || (err != nil) != tt.fails {
				t.Errorf("got %v, heap %v, %v", got.Reconciles(tt.controller), got.Heap(), err)
			}
			if n := got.Goroutines(); !tt.fails && n != 12 {
				t.Errorf("%v goroutines, want 12", n)
			}
			if p50 := got.ReconcileTimes(tt.controller).Quantile(0.5); !math.IsNaN(p50) {
				t.Errorf("p50 = %v, though the text tells no times", p50)
			}
		})
	}
}

// served is a histogram as controller-runtime has it, beside one of another controller.
type served struct {
	t        *testing.T
	url      string
	observer prometheus.Observer
}

func serve(t *testing.T) served {
	t.Helper()
	times := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "controller_runtime_reconcile_time_seconds", Buckets: []float64{1}, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	}, []string{"controller"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(times)
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	times.WithLabelValues("claim").Observe(100)
	return served{t, server.URL, times.WithLabelValues("sandbox")}
}

func (s served) read() Histogram {
	s.t.Helper()
	m, err := Scrape(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	return m.ReconcileTimes("sandbox")
}

func TestTimesOfReconcilesAreFine(t *testing.T) {
	steps := func(from, factor float64, count int) []float64 {
		var all []float64
		for range count {
			all = append(all, from)
			from *= factor
		}
		return all
	}
	for _, tt := range []struct {
		name          string
		before, after []float64
		p50, to       float64 // of after, and how near the reading is
	}{
		{"all the same", nil, []float64{0.004, 0.004, 0.004}, 0.004, 0.05},
		{"most of them small", []float64{1, 2, 3}, []float64{0.001, 0.001, 0.001, 0.017}, 0.001, 0.05},
		{"what came before does not count", []float64{0.001, 0.001, 0.001, 0.001}, []float64{0.02, 0.02}, 0.02, 0.05},
		{"far apart", []float64{3}, []float64{0.000_02, 0.3, 7.5}, 0.3, 0.05},
		{"so many buckets that they are joined in between", []float64{0.01, 0.01}, append(steps(1e-7, 1.2, 120), steps(0.5, 1, 200)...), 0.5, 0.3},
		{"nothing", []float64{1}, nil, math.NaN(), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t)
			for _, value := range tt.before {
				s.observer.Observe(value)
			}
			before := s.read()
			var sum float64
			for _, value := range tt.after {
				s.observer.Observe(value)
				sum += value
			}
			got := s.read().Since(before)
			near := func(got, want, share float64) bool {
				return math.Abs(got-want) <= want*share || math.IsNaN(got) && math.IsNaN(want)
			}
			const exact = 1e-6
			if p50 := got.Quantile(0.5); !near(p50, tt.p50, tt.to) {
				t.Errorf("p50 = %v, want %v", p50, tt.p50)
			}
			if mean, want := got.Mean(), sum/float64(len(tt.after)); !near(mean, want, exact) {
				t.Errorf("mean = %v, want %v", mean, want)
			}
		})
	}
}
