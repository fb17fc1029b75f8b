package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func published() Options {
	return Options{Count: 300, Parallel: 50, Rounds: 1, Duration: time.Minute, Scale: 10_000, Nodes: 10}
}

func TestSustainedClaimsComeAtAThirdOfTheFloorsRate(t *testing.T) {
	for _, tt := range []struct {
		name        string
		lasts       time.Duration
		floor       float64 // claims/s
		every       time.Duration
		count, pods int
	}{
		{"for a minute", time.Minute, 90, time.Second / 30, 1800, 2*1800 + 50 + 4*113},
		{"a fast floor", time.Minute, 300, 10 * time.Millisecond, 6000, 2*6000 + 50 + 4*113},
		{"so short that one comes", time.Millisecond, 90, time.Second / 30, 1, 2 + 1 + 4*113},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := published()
			o.Duration = tt.lasts
			b := claimsSustained()
			got := b.fit(b.load(o), []float64{tt.floor, 20})
			if drift := got.every - tt.every; drift.Abs() > time.Microsecond {
				t.Errorf("one comes every %s, want %s", got.every, tt.every)
			}
			if got.count != tt.count || got.stock != tt.count || got.pods() != tt.pods {
				t.Errorf("%d claims, stock of %d, %d Pods at most, want %d claims, %d Pods", got.count, got.stock, got.pods(), tt.count, tt.pods)
			}
			if got.pools != 4 || got.pool != 113 || got.unloaded != 20 {
				t.Errorf("%d pools of %d, unloaded p50 of %v ms; want 4 of 113, 20 ms", got.pools, got.pool, got.unloaded)
			}
		})
	}
}

func TestNodesAreEnoughForThePods(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cases []string
		scale int
		want  int
	}{
		{"as many as are asked for", nil, 10_000, 10},
		{"more than that", []string{"scale"}, 10_000, 11},
		{"many more", []string{"claims-burst", "scale"}, 50_000, 51},
		{"a small scale", []string{"scale"}, 1000, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := published()
			o.Scale = tt.scale
			chosen, err := choose(tt.cases)
			if err != nil {
				t.Fatal(err)
			}
			if o = o.withRoom(chosen); o.Nodes != tt.want || o.room() != 1000*tt.want {
				t.Errorf("%d nodes with room for %d Pods, want %d", o.Nodes, o.room(), tt.want)
			}
		})
	}
	if o := (Options{Kubeconfig: "x", Nodes: 1}); o.room() != math.MaxInt {
		t.Errorf("an existing cluster has room for %d", o.room())
	}
}

func TestWhatTakesLongRunsOnlyByItsName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cases []string
		want  bool
	}{
		{"no name", nil, false},
		{"its name", []string{"sandboxes", "scale"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chosen, err := choose(tt.cases)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(chosen, func(b benchmark) bool { return b.name == "scale" }); got != tt.want {
				t.Errorf("scale is chosen: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPoolsHaveNamesOfTheirOwn(t *testing.T) {
	for count, want := range map[int]string{0: "pool", 1: "pool", 3: "pool-1 pool-2 pool-3"} {
		if got := strings.Join((load{pools: count}).poolNames(), " "); got != want {
			t.Errorf("%d pools are %s, want %s", count, got, want)
		}
	}
}

func TestPaceMakesUpForWhoComesLate(t *testing.T) {
	p := newPace(time.Hour)
	p.due = time.Now().Add(-3 * time.Hour) // two were missed, the third is due
	for range 3 {
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := time.Until(p.due.Add(p.every)); left < 59*time.Minute {
		t.Errorf("the next comes in %s, want an hour", left)
	}
}
