package usage

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Histogram is a native histogram of Prometheus: bucket i holds what is above base^(i-1) and not above base^i, base being
// 2^(2^-schema). With controller-runtime's settings a bucket's ends are 9 percent apart. Values are 0 or more.
type Histogram struct {
	count, sum, zero float64
	schema           int32
	buckets          map[int]float64
}

func newHistogram(from *dto.Histogram) Histogram {
	h := Histogram{
		count: float64(from.GetSampleCount()), sum: from.GetSampleSum(), zero: float64(from.GetZeroCount()),
		schema: from.GetSchema(), buckets: map[int]float64{},
	}
	deltas, bucket, held := from.GetPositiveDelta(), 0, int64(0)
	for _, span := range from.GetPositiveSpan() {
		bucket += int(span.GetOffset())
		for range span.GetLength() {
			if len(deltas) == 0 {
				return h
			}
			held += deltas[0]
			deltas = deltas[1:]
			h.buckets[bucket] = float64(held)
			bucket++
		}
	}
	return h
}

// Since returns what came after before was read. The later reading may be the coarser, for a histogram with too many
// buckets joins them.
func (h Histogram) Since(before Histogram) Histogram {
	since := Histogram{
		count: h.count - before.count, sum: h.sum - before.sum, zero: h.zero - before.zero,
		schema: h.schema, buckets: maps.Clone(h.buckets),
	}
	for bucket, n := range before.buckets {
		for range before.schema - h.schema {
			bucket = int(math.Ceil(float64(bucket) / 2))
		}
		since.buckets[bucket] -= n
	}
	return since
}

// Mean returns the exact mean; NaN for nothing.
func (h Histogram) Mean() float64 { return h.sum / h.count }

// Quantile returns the value that the share q does not exceed, as if values were spread evenly over their bucket; NaN for
// nothing, or where no fine buckets are known.
func (h Histogram) Quantile(q float64) float64 {
	var held float64
	for _, n := range h.buckets {
		held += n
	}
	rank := q*(held+h.zero) - h.zero
	if held+h.zero == 0 {
		return math.NaN()
	}
	if rank <= 0 {
		return 0
	}
	for _, bucket := range slices.Sorted(maps.Keys(h.buckets)) {
		n := h.buckets[bucket]
		if n > 0 && rank <= n {
			low, high := h.bound(bucket-1), h.bound(bucket)
			return low + (high-low)*rank/n
		}
		rank -= n
	}
	return math.NaN()
}

// bound is the upper end of a bucket.
func (h Histogram) bound(bucket int) float64 {
	return math.Exp2(float64(bucket) * math.Exp2(-float64(h.schema)))
}
