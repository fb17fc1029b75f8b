package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheSeedAloneDecidesAboutClaims(t *testing.T) {
	most := []int32{20, 8, 0}
	first, pools, outages := ClaimActions(7, 3, 3, length), PoolActions(7, most, 2, length), Outages(7, []string{"a", "b"}, length)
	if diff := cmp.Diff(first, ClaimActions(7, 3, 3, length)); diff != "" {
		t.Errorf("the same seed gives other actions (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(pools, PoolActions(7, most, 2, length)); diff != "" {
		t.Errorf("the same seed does other things to pools (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(outages, Outages(7, []string{"a", "b"}, length)); diff != "" {
		t.Errorf("the same seed gives other outages (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, ClaimActions(8, 3, 3, length)) || cmp.Equal(first, ClaimActions(7, 4, 3, length)) {
		t.Error("another seed, or another claim, gives the same actions")
	}
	if cmp.Equal(pools, PoolActions(8, most, 2, length)) || cmp.Equal(outages, Outages(8, []string{"a", "b"}, length)) {
		t.Error("another seed does the same to pools, or to the control plane")
	}
}

func TestControllersAreKilledAtTimesOfTheirOwn(t *testing.T) {
	if NewKills(1, 0, 2, least, most).Next() == NewKills(1, 1, 2, least, most).Next() {
		t.Error("two controllers are killed at the same time")
	}
}

func TestAllIsDoneToClaims(t *testing.T) {
	kinds, pools := map[Kind]int{}, map[int]int{}
	for number := range 300 {
		var latest time.Duration
		for i, action := range ClaimActions(1, number, 3, length) {
			if action.At < latest || action.At >= length {
				t.Errorf("%s at %s: want them in order, before %s", action, action.At, length)
			}
			latest = action.At
			if i == 0 && action.Kind != Create {
				t.Errorf("the first thing done to claim %d is %s", number, action)
			}
			kinds[action.Kind]++
			if action.Kind == Create {
				pools[action.Shape.Pool]++
			}
		}
	}
	for _, action := range PoolActions(1, []int32{20, 8}, 2, length) {
		kinds[action.Kind]++
	}
	for _, kind := range ClaimKinds() {
		if kinds[kind] == 0 {
			t.Errorf("nobody does %q", kind)
		}
	}
	if len(pools) != 3 || kinds[Create] < 300 {
		t.Errorf("claims by pool: %v, want 300 or more on 3", pools)
	}
}

func TestPoolsAreScaledWithinTheirBounds(t *testing.T) {
	var latest time.Duration
	for _, action := range PoolActions(1, []int32{4, 0}, 1, length) {
		if action.At < latest || action.At >= length {
			t.Errorf("%s at %s: want them in order, before %s", action, action.At, length)
		}
		latest = action.At
		if action.Kind == Scale && (action.Pool != 0 || action.Replicas > 4 || action.Replicas < 0) {
			t.Errorf("%s: want 4 at most, and the pool of 0 left alone", action)
		}
	}
}

func TestOutagesAreInTheMiddleAndApart(t *testing.T) {
	for seed := range uint64(50) {
		outages := Outages(seed, []string{"a", "b"}, length)
		first, second := outages[0], outages[1]
		if first.Component == second.Component || first.At < length*3/10 || second.At > length*7/10 || second.At-first.At < length/10 {
			t.Errorf("seed %d: %+v", seed, outages)
		}
	}
}
