package sighting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func versions(changes []Change) []uint64 {
	var all []uint64
	for _, c := range changes {
		all = append(all, c.Version)
	}
	return all
}

// TestOrder lets two watches tell changes, and asks for what is ripe at a time after the begin.
func TestOrder(t *testing.T) {
	cases := map[string]struct {
		happens func(*order)
		at      time.Duration
		want    []uint64
	}{
		"a change waits while the other watch may tell of an earlier one": {func(o *order) {
			tell(o, 0, 5)
		}, 0, nil},
		"a change is ripe once the other watch is as far": {func(o *order) {
			tell(o, 0, 5)
			tell(o, 1, 6)
		}, 0, []uint64{5}},
		"changes come in the order of their versions": {func(o *order) {
			tell(o, 0, 5)
			tell(o, 0, 7)
			tell(o, 1, 3)
			tell(o, 1, 6)
			o.reach(1, 9)
		}, 0, []uint64{3, 5, 6, 7}},
		"a change is ripe when the other watch has told nothing for long": {func(o *order) {
			tell(o, 0, 5)
		}, Hold, []uint64{5}},
		"a change waits for a watch that has ended": {func(o *order) {
			tell(o, 0, 5)
			o.disconnect(1)
		}, time.Hour, nil},
		"a change waits for a watch that has just begun again": {func(o *order) {
			tell(o, 0, 5)
			o.disconnect(1)
			o.connect(1, start().Add(time.Minute))
		}, time.Minute + Hold/2, nil},
		"and not longer than for another": {func(o *order) {
			tell(o, 0, 5)
			o.disconnect(1)
			o.connect(1, start().Add(time.Minute))
		}, time.Minute + Hold, []uint64{5}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			o := newOrder(2, start())
			o.connect(0, start())
			o.connect(1, start())
			tt.happens(o)
			if diff := cmp.Diff(tt.want, versions(o.take(start().Add(tt.at)))); diff != "" {
				t.Errorf("ripe versions (-want +got):\n%s", diff)
			}
		})
	}
}

func tell(o *order, stream int, version uint64) {
	o.add(Change{Version: version, Seen: start()})
	o.reach(stream, version)
}

func TestOrderKnowsWhatCameTooLate(t *testing.T) {
	o := newOrder(1, start())
	tell(o, 0, 5)
	if got := versions(o.take(start())); len(got) != 1 {
		t.Fatalf("took %v, want one change", got)
	}
	o.add(Change{Version: 4, Unseen: true})
	if late := o.lateOnes(); late != 0 {
		t.Errorf("%d late changes after an end of which only the time before is known, want 0", late)
	}
	o.add(Change{Version: 4, After: &corev1.Pod{}})
	if late := o.lateOnes(); late != 1 {
		t.Errorf("%d late changes, want 1", late)
	}
}
