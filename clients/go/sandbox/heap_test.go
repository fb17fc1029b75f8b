package sandbox_test

import (
	"runtime"
	"testing"
	"time"
)

// heapWhile returns by how many bytes the heap grew at most while something was done.
func heapWhile(t *testing.T, do func()) uint64 {
	t.Helper()
	runtime.GC()
	before, peak := heap(), uint64(0)
	done := make(chan struct{})
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, heap())
			case <-done:
				return
			}
		}
	}()
	do()
	close(done)
	<-measured
	return max(peak, before) - before
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
