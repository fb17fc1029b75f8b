package warmpool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// A member is closed off since it was first seen so without a break.
func TestClosures(t *testing.T) {
	type times = map[types.UID]time.Time
	at := func(minute int) time.Time { return testNow.Add(time.Duration(minute) * time.Minute) }
	closures := NewClosures()
	// Each is a minute after the one before.
	for minute, step := range []struct {
		name    string
		members []types.UID
		want    times
	}{
		{"nobody is closed off", nil, nil},
		{"one is", []types.UID{"a"}, times{"a": at(1)}},
		{"another too", []types.UID{"b", "a"}, times{"a": at(1), "b": at(2)}},
		{"the first is no more", []types.UID{"b"}, times{"b": at(2)}},
		{"it is again", []types.UID{"a", "b"}, times{"a": at(4), "b": at(2)}},
	} {
		if diff := cmp.Diff(step.want, closures.Since("pool", step.members, at(minute))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if got := closures.Since("other", []types.UID{"a"}, at(9)); !got["a"].Equal(at(9)) {
		t.Errorf("that of another pool is closed off since %v", got["a"])
	}
}

// After a restart the time begins anew, and what is gone leaves nothing behind.
func TestClosuresMayBeLost(t *testing.T) {
	closures := NewClosures()
	closures.Since("pool", []types.UID{"a"}, testNow)
	closures.Forget("pool")
	closures.Forget("never seen")
	if closures.Len() != 0 {
		t.Errorf("%d pools are remembered", closures.Len())
	}
	if got := closures.Since("pool", []types.UID{"a"}, testNow.Add(time.Hour)); !got["a"].Equal(testNow.Add(time.Hour)) {
		t.Errorf("closed off since %v", got["a"])
	}
	if closures.Since("pool", nil, testNow); closures.Len() != 0 {
		t.Errorf("%d pools are remembered of which none is closed off", closures.Len())
	}
}
