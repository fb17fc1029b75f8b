package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
)

func valuesOf(all []report.Measurement) map[string]float64 {
	values := map[string]float64{}
	for _, m := range all {
		values[m.Metric.Name] = m.Value
	}
	return values
}

func TestMemoryIsToldForEachThousand(t *testing.T) {
	few := atRest{sandboxes: 500, size: []float64{40, 60}, heap: []float64{10, 20}}
	many := atRest{sandboxes: 4500, size: []float64{120, 90}, heap: []float64{50, 21}}
	for _, tt := range []struct {
		name   string
		now    atRest
		place  int
		before []atRest
		want   map[string]float64
	}{
		{"at first", few, 0, nil, map[string]float64{"core memory at rest": 40, "core heap at rest": 10}},
		{"the second controller, among more", many, 1, []atRest{few}, map[string]float64{
			"core memory at rest": 90, "core heap at rest": 21, "core memory at rest, each 1,000 Sandboxes": 20,
			"core memory at rest, each 1,000 more": 7.5, "core heap at rest, each 1,000 more": 0.25,
		}},
		{"by the last reading of two", many, 0, []atRest{{size: []float64{1}, heap: []float64{1}}, few}, map[string]float64{
			"core memory at rest": 120, "core heap at rest": 50, "core memory at rest, each 1,000 Sandboxes": 120 / 4.5,
			"core memory at rest, each 1,000 more": 20, "core heap at rest, each 1,000 more": 10,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, valuesOf(memoryAtRest("core", tt.place, tt.now, tt.before))); diff != "" {
				t.Errorf("memory (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimesAreHeldAgainstThoseAmongFew(t *testing.T) {
	times := func(latency, cpu, writes float64) []report.Measurement {
		return []report.Measurement{
			measured(latencyP50, report.Millis, report.Median, latency),
			measured("core CPU", report.MillisEach, report.Median, cpu),
			measured("writes", report.Each, report.Mean, writes),
		}
	}
	for _, tt := range []struct {
		name        string
		now, before []report.Measurement
		want        map[string]float64
	}{
		{"times and CPU, no counts", times(12, 3, 4), times(10, 2, 3), map[string]float64{
			"latency p50, by that among few": 1.2, "core CPU, by that among few": 1.5,
		}},
		{"what took no time before is left out", times(12, 3, 4), times(10, 0, 3), map[string]float64{"latency p50, by that among few": 1.2}},
		{"nothing before", times(12, 3, 4), nil, map[string]float64{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, valuesOf(growth(tt.now, tt.before))); diff != "" {
				t.Errorf("growth (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneInTenOfTheCrowdIsAClaims(t *testing.T) {
	for _, side := range []side{floorSide, oursSide} {
		r := &round{scene: &scene{}, side: side}
		claims := 0
		for i := range 100 {
			if r.crowdStep(i).want == "Ready=True with a Sandbox" {
				claims++
			}
		}
		if claims != 10 {
			t.Errorf("%s: %d of 100 are of claims, want 10", side, claims)
		}
	}
}
