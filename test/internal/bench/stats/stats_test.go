package stats

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tt := range []struct {
		name    string
		samples []float64
		q, want float64
	}{
		{"the median of a hundred is the fiftieth", hundred, 0.5, 50},
		{"p90 of a hundred is the ninetieth", hundred, 0.9, 90},
		{"p99 of a hundred is the last but one", hundred, 0.99, 99},
		{"one is the largest", hundred, 1, 100},
		{"zero is the smallest", hundred, 0, 1},
		{"a share beyond one is the largest", hundred, 1.5, 100},
		{"a single sample is every quantile", []float64{7}, 0.99, 7},
		{"nothing between two samples is made up", []float64{1, 2}, 0.5, 1},
		{"p99 of three is the largest", []float64{3, 1, 2}, 0.99, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Quantile(tt.samples, tt.q); got != tt.want {
				t.Errorf("Quantile(%v) = %v, want %v", tt.q, got, tt.want)
			}
		})
	}
}

func TestQuantileLeavesTheSamplesInTheirOrder(t *testing.T) {
	samples := []float64{3, 1, 2}
	Quantile(samples, 0.5)
	Median(samples)
	if samples[0] != 3 || samples[1] != 1 || samples[2] != 2 {
		t.Errorf("samples are now %v", samples)
	}
}

func TestMiddles(t *testing.T) {
	for _, tt := range []struct {
		name         string
		samples      []float64
		median, mean float64
	}{
		{"an odd number has a middle", []float64{10, 1, 4}, 4, 5},
		{"an even number has two", []float64{1, 10, 4, 5}, 4.5, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Median(tt.samples); got != tt.median {
				t.Errorf("Median = %v, want %v", got, tt.median)
			}
			if got := Mean(tt.samples); got != tt.mean {
				t.Errorf("Mean = %v, want %v", got, tt.mean)
			}
		})
	}
}

func TestNoSamplesAreNoNumber(t *testing.T) {
	for name, got := range map[string]float64{
		"Quantile": Quantile(nil, 0.5), "Median": Median(nil), "Mean": Mean(nil),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s of nothing = %v, want NaN", name, got)
		}
	}
}
