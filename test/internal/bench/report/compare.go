package report

import (
	"math"
	"slices"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/stats"
)

// Fold says how the values of the rounds become one.
type Fold string

// Folds.
const (
	// Median is for times, which a busy machine distorts now and then.
	Median Fold = "median"
	// Mean is for counts: one request too many in one round shows.
	Mean Fold = "mean"
	// Peak is for what must not be exceeded.
	Peak Fold = "peak"
)

// Metric says what a measurement is of.
type Metric struct {
	Name string
	Unit string
	Fold Fold
}

// Measurement is what one round found of a metric.
type Measurement struct {
	Metric Metric
	Value  float64
}

// Compare puts the rounds of floor and ours side by side, the first beside the first. A count that a round did not
// meet, though another round of its side did, is zero there.
func Compare(phase string, floor, ours [][]Measurement) Phase {
	p := Phase{Name: phase}
	for _, metric := range metrics(slices.Concat(ours, floor)) {
		p.Figures = append(p.Figures, figure(metric, values(metric, floor), values(metric, ours)))
	}
	return p
}

// metrics lists each metric once, where it is first met.
func metrics(rounds [][]Measurement) []Metric {
	var all []Metric
	for _, round := range rounds {
		after := 0 // what a later round adds goes behind its neighbour, not to the end
		for _, m := range round {
			at := slices.Index(all, m.Metric)
			if at < 0 {
				at = after
				all = slices.Insert(all, at, m.Metric)
			}
			after = at + 1
		}
	}
	return all
}

func values(metric Metric, rounds [][]Measurement) *Values {
	v := &Values{Rounds: make([]float64, len(rounds))}
	met := false
	for i, round := range rounds {
		for _, m := range round {
			if m.Metric == metric {
				v.Rounds[i], met = m.Value, true
			}
		}
	}
	if !met {
		return nil
	}
	switch metric.Fold {
	case Mean:
		v.Value = stats.Mean(v.Rounds)
	case Peak:
		v.Value = slices.Max(v.Rounds)
	default:
		v.Value = stats.Median(v.Rounds)
	}
	return v
}

func figure(metric Metric, floor, ours *Values) Figure {
	f := Figure{Name: metric.Name, Unit: metric.Unit, Floor: floor, Ours: ours}
	if floor == nil || ours == nil {
		return f
	}
	ratio := &Values{}
	for i := range min(len(floor.Rounds), len(ours.Rounds)) {
		if r := ours.Rounds[i] / floor.Rounds[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			ratio.Rounds = append(ratio.Rounds, r)
		}
	}
	if len(ratio.Rounds) > 0 {
		ratio.Value = stats.Median(ratio.Rounds)
		f.Ratio = ratio
	}
	return f
}
