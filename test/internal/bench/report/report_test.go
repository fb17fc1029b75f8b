package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func metric(name string, fold Fold) Metric { return Metric{Name: name, Unit: Each, Fold: fold} }

func round(values map[string]float64, order ...Metric) []Measurement {
	var all []Measurement
	for _, m := range order {
		if value, met := values[m.Name]; met {
			all = append(all, Measurement{m, value})
		}
	}
	return all
}

func TestCompare(t *testing.T) {
	rate, writes, refused, memory := metric("rate", Median), metric("writes", Mean), metric("refused", Mean), metric("memory", Peak)
	order := []Metric{rate, writes, refused, memory}
	floor := [][]Measurement{
		round(map[string]float64{"rate": 10, "writes": 0}, order...),
		round(map[string]float64{"rate": 20, "writes": 0}, order...),
		round(map[string]float64{"rate": 90, "writes": 0}, order...),
	}
	ours := [][]Measurement{
		round(map[string]float64{"rate": 5, "writes": 2, "memory": 7}, order...),
		round(map[string]float64{"rate": 18, "writes": 2, "refused": 3, "memory": 9}, order...),
		round(map[string]float64{"rate": 9, "writes": 5, "memory": 8}, order...),
	}
	got := Compare("create", floor, ours)
	want := Phase{Name: "create", Figures: []Figure{
		{Name: "rate", Unit: Each, Floor: &Values{20, []float64{10, 20, 90}}, Ours: &Values{9, []float64{5, 18, 9}},
			Ratio: &Values{0.5, []float64{0.5, 0.9, 0.1}}},
		{Name: "writes", Unit: Each, Floor: &Values{0, []float64{0, 0, 0}}, Ours: &Values{3, []float64{2, 2, 5}}},
		{Name: "refused", Unit: Each, Ours: &Values{1, []float64{0, 3, 0}}},
		{Name: "memory", Unit: Each, Ours: &Values{9, []float64{7, 9, 8}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phase (-want +got):\n%s", diff)
	}
}

func sample() Report {
	return Report{
		Setting: Setting{CPUs: 2, Kubernetes: "v1.37.2", Nodes: 10, Count: 300, Parallel: 50, Rounds: 2},
		Cases: []Case{{
			Name: "things", Summary: "things come and go", Floor: "without us", Ours: "with us",
			Phases: []Phase{{Name: "create", Figures: []Figure{
				{Name: "rate", Unit: PerSecond, Floor: &Values{120.44, []float64{118, 122.88}}, Ours: &Values{96.2, []float64{95, 97.4}},
					Ratio: &Values{0.8, []float64{0.79, 0.81}}},
				{Name: "latency p99", Unit: Millis, Floor: &Values{10, []float64{10, 10}}, Ours: &Values{1234.56, []float64{1234, 1235.12}},
					Ratio: &Values{123.456, []float64{123, 124}}},
				{Name: "writes: create pods", Unit: Each, Ours: &Values{1.00333, []float64{1, 1.00666}}},
			}}, {Name: "remove", Figures: []Figure{
				{Name: "controller memory at most", Unit: MegabytesOf, Ours: &Values{64.2, []float64{64.2}}},
			}}},
		}},
	}
}

func TestOutputIsGolden(t *testing.T) {
	for file, write := range map[string]func(io.Writer, Report) error{"table.txt": WriteTable, "report.json": WriteJSON} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got, sample()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got; accept with: go test -update):\n%s", path, diff)
			}
		})
	}
}

func TestJSONReadsBack(t *testing.T) {
	var text bytes.Buffer
	if err := WriteJSON(&text, sample()); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
