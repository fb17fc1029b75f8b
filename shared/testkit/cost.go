package testkit

import (
	"fmt"
	"testing"
)

// Among returns one reconcile that finds nothing to do, in a cache that holds so many objects.
type Among func(t testing.TB, objects int) (reconcile func())

// BenchmarkReconcile tells what that reconcile costs among few objects and among many. what they are is in the name of each run.
func BenchmarkReconcile(b *testing.B, what string, among Among) {
	for _, objects := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("%s=%d", what, objects), func(b *testing.B) {
			reconcile := among(b, objects)
			reconcile() // fills the cache
			b.ReportAllocs()
			for b.Loop() {
				reconcile()
			}
		})
	}
}

// CostIsFlat fails the test when that reconcile allocates more among many objects. Allocations do not depend on the machine.
func CostIsFlat(t *testing.T, what string, among Among) {
	t.Helper()
	few, many := testing.AllocsPerRun(200, among(t, 100)), testing.AllocsPerRun(200, among(t, 10_000))
	t.Logf("allocations: %.0f among 100 %s, %.0f among 10,000", few, what, many)
	if many > few*1.05 {
		t.Errorf("a reconcile allocates %.0f times among 10,000 %s, %.0f among 100", many, what, few)
	}
}
