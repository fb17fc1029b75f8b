// Package stats computes what samples say, from all of them and without interpolation.
package stats

import (
	"math"
	"slices"
)

// Quantile returns the smallest sample that at least the share q of all samples does not exceed (the nearest rank);
// NaN without samples. q outside 0 to 1 counts as the nearer bound.
func Quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median returns the middle sample, or the mean of the two in the middle; NaN without samples.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Mean returns the arithmetic mean; NaN without samples.
func Mean(samples []float64) float64 {
	var sum float64
	for _, sample := range samples {
		sum += sample
	}
	return sum / float64(len(samples))
}
