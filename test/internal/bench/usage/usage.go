// Package usage reads what a process of this machine costs.
package usage

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// Process is what a process has used since its start.
type Process struct {
	CPU      time.Duration // in user and kernel mode, to the clock tick of 10 ms
	PeakSize int64         // bytes of memory resident at most
}

// Of reads the usage of a process of this machine.
func Of(pid int) (Process, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Process{}, fmt.Errorf("finding process %d: %w", pid, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return Process{}, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return Process{}, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	return Process{
		CPU:      time.Duration(stat.CPUTime() * float64(time.Second)),
		PeakSize: int64(status.VmHWM),
	}, nil
}

// Reconciles returns how many reconciles a controller has finished, with whatever result, by the metrics that
// controller-runtime serves at url.
func Reconciles(ctx context.Context, url, controller string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("asking for metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("asking for metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("asking for metrics at %s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("reading the metrics at %s: %w", url, err)
	}
	var sum float64
	for _, metric := range families["controller_runtime_reconcile_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" && label.GetValue() == controller {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum, nil
}
