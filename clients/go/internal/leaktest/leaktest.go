// Package leaktest fails tests that leave goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// looks is how often is looked for goroutines, at most; each look has a patience of its own. A SPDY connection that the other side cut
// ends a second later, by itself.
const looks = 8

// Run runs the tests of a package and returns the exit code, which is none of success if goroutines outlive the tests.
func Run(m *testing.M) int {
	code := m.Run()
	if err := find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		return 1
	}
	return code
}

// Check fails the test if goroutines that it starts from now on outlive it.
func Check(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := find(before); err != nil {
			t.Error(err)
		}
	})
}

func find(options ...goleak.Option) error {
	var err error
	for range looks {
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}
