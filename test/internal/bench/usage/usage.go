// Package usage reads what a process of this machine costs.
package usage

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Process is what a process has used since its start.
type Process struct {
	CPU      time.Duration // in user and kernel mode, to the clock tick of 10 ms
	PeakSize int64         // bytes of memory resident at most
	Size     int64         // bytes of memory resident now
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
		Size:     int64(status.VmRSS),
	}, nil
}
