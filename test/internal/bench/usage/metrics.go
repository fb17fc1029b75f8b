package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Metrics is what a controller says of itself, by controller-runtime's and Go's own metrics.
type Metrics struct {
	families map[string]*dto.MetricFamily
}

// Scrape reads the metrics that are served at url: as protobuf where that is spoken, for text knows no fine histograms.
func Scrape(ctx context.Context, url string) (Metrics, error) {
	m := Metrics{families: map[string]*dto.MetricFamily{}}
	err := get(ctx, url, func(response *http.Response) error {
		decoder := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header))
		for {
			family := &dto.MetricFamily{}
			switch err := decoder.Decode(family); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return fmt.Errorf("reading the metrics at %s: %w", url, err)
			}
			m.families[family.GetName()] = family
		}
	})
	return m, err
}

// Touch asks for url, and throws away what it says.
func Touch(ctx context.Context, url string) error {
	return get(ctx, url, func(response *http.Response) error {
		_, err := io.Copy(io.Discard, response.Body)
		return err
	})
}

func get(ctx context.Context, url string, read func(*http.Response) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", url, err)
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim))+", "+string(expfmt.NewFormat(expfmt.TypeTextPlain))+";q=0.5")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for %s: %s", url, response.Status)
	}
	return read(response)
}

// Reconciles returns how many reconciles a controller has finished, with whatever result.
func (m Metrics) Reconciles(controller string) float64 {
	var sum float64
	for _, metric := range m.of("controller_runtime_reconcile_total", controller) {
		sum += metric.GetCounter().GetValue()
	}
	return sum
}

// ReconcileTimes returns how long a controller's reconciles took, in seconds.
func (m Metrics) ReconcileTimes(controller string) Histogram {
	for _, metric := range m.of("controller_runtime_reconcile_time_seconds", controller) {
		return newHistogram(metric.GetHistogram())
	}
	return Histogram{}
}

// Heap returns the bytes of objects on the heap of the process, garbage that nobody has collected yet included.
func (m Metrics) Heap() float64 { return m.gauge("go_memstats_heap_alloc_bytes") }

// Goroutines returns how many goroutines the process has.
func (m Metrics) Goroutines() float64 { return m.gauge("go_goroutines") }

func (m Metrics) gauge(name string) float64 {
	for _, metric := range m.families[name].GetMetric() {
		return metric.GetGauge().GetValue()
	}
	return 0
}

func (m Metrics) of(name, controller string) []*dto.Metric {
	var found []*dto.Metric
	for _, metric := range m.families[name].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" && label.GetValue() == controller {
				found = append(found, metric)
			}
		}
	}
	return found
}
