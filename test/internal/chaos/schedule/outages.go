package schedule

import (
	"math/rand/v2"
	"time"
)

// breaker is the number of the actor that kills parts of the control plane.
const breaker = uint64(1) << 62

// Outage is the end of a part of the control plane, which is started again at once.
type Outage struct {
	At        time.Duration // since the begin of the run
	Component string
}

// Outages returns one outage of each component in the middle of a run of that length, in the order of time. The middle is the third
// to the seventh tenth: each component has a share of it, so that they do not end together.
func Outages(seed uint64, components []string, length time.Duration) []Outage {
	const from, to = 0.3, 0.7
	random := newRandom(seed, breaker)
	share := (to - from) / float64(len(components))
	all := make([]Outage, len(components))
	for place, which := range random.Perm(len(components)) {
		at := from + share*(float64(place)+between(random))
		all[place] = Outage{At: time.Duration(at * float64(length)).Round(time.Millisecond), Component: components[which]}
	}
	return all
}

// between is a place in a share, away from the next one.
func between(random *rand.Rand) float64 {
	const most = 0.5
	return most * random.Float64()
}
