package warmpool

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

func removing(members ...*sandboxv1beta1.Sandbox) []target {
	var targets []target
	for _, m := range members {
		targets = append(targets, target{name: m.Name, uid: m.UID, resourceVersion: m.ResourceVersion})
	}
	return targets
}

func withoutWake(p plan) plan {
	p.wake = 0
	return p
}

func TestDecideAboutTheSize(t *testing.T) {
	gone := func(s *seen) { s.template = nil }
	pending := func(names ...string) func(*seen) { return func(s *seen) { s.pending = names } }
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"an empty pool is filled":                       {seenOf(poolOf(3)), plan{create: 3}},
		"a full one is left alone":                      {seenOf(poolOf(1), with(member(1))), plan{}},
		"in one pass no more than a batch":              {seenOf(poolOf(50)), plan{create: 10}},
		"nor more than there are tokens (A4.19)":        {seenOf(poolOf(5), func(s *seen) { s.tokens = 2 }), plan{create: 2}},
		"however many are asked for (A4.20)":            {seenOf(poolOf(math.MaxInt32)), plan{create: 10}},
		"members on their way out count (A4.1)":         {seenOf(poolOf(2), with(member(1), member(2, leaving))), plan{}},
		"so do those that nobody answered for":          {seenOf(poolOf(3), with(member(1)), pending("m7")), plan{retry: []string{"m7"}, create: 1}},
		"which are part of the batch":                   {seenOf(poolOf(15), pending("m7")), plan{retry: []string{"m7"}, create: testLimits.Batch - 1}},
		"which are dropped when there are enough":       {seenOf(poolOf(1), with(member(1)), pending("m7")), plan{drop: []string{"m7"}}},
		"without the template none is made":             {seenOf(poolOf(3), gone), plan{}},
		"and none goes":                                 {seenOf(poolOf(1), with(member(1, stale)), gone), plan{}},
		"while claims can be served the refill waits":   {seenOf(poolOf(3), with(member(1)), func(s *seen) { s.yielded = time.Second }), plan{}},
		"what was lost waits":                           {seenOf(poolOf(5), with(member(1), member(2)), func(s *seen) { s.held, s.heldFor = 3, time.Second }), plan{}},
		"what there never was does not":                 {seenOf(poolOf(5), with(member(1), member(2)), func(s *seen) { s.held, s.heldFor = 2, time.Second }), plan{create: 1}},
		"none are wanted":                               {seenOf(poolOf(0), with(member(1))), plan{remove: removing(member(1))}},
		"beyond the size the youngest go":               {seenOf(poolOf(1), with(member(1), member(2), member(3))), plan{remove: removing(member(3), member(2))}},
		"of them those that are not ready first (A4.6)": {seenOf(poolOf(2), with(member(1, unreadyFor(time.Minute)), member(2), member(3))), plan{remove: removing(member(1, unreadyFor(time.Minute)))}},
		"or that nobody is handed":                      {seenOf(poolOf(2), with(member(1), member(2), member(3)), closedFor(time.Second, member(2))), plan{remove: removing(member(2))}},
		"then those that are stale":                     {seenOf(poolOf(1), with(member(1, stale), member(2))), plan{remove: removing(member(1, stale))}},
		"what goes already is none of them":             {seenOf(poolOf(1), with(member(1), member(2, leaving))), plan{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, withoutWake(decide(tc.seen, testLimits)), cmp.AllowUnexported(plan{}, target{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideAboutMembersThatDoNotBecomeReady(t *testing.T) {
	long := unreadyFor(6 * time.Minute)
	patient := poolOf(1, func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.ReadinessGracePeriodSeconds = ptr.To[int32](600) })
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"one that has had its time goes":             {seenOf(poolOf(1), with(member(1, long))), plan{remove: removing(member(1, long))}},
		"a pool may be more patient (A4.5)":          {seenOf(patient, with(member(1, long))), plan{}},
		"one that finds no node stays (A4.2)":        {seenOf(poolOf(1), with(member(1, long, scheduled("False", "Unschedulable")))), plan{}},
		"so does one behind a gate":                  {seenOf(poolOf(1), with(member(1, long, scheduled("False", "SchedulingGated")))), plan{}},
		"and one that is refused: the next would be": {seenOf(poolOf(1), with(member(1, refusedPod))), plan{}},
		"and one that a quota keeps from its Pod":    {seenOf(poolOf(1), with(member(1, long, unreadyBy(sandboxv1beta1.ReasonQuotaExceeded)))), plan{}},
		"and one whose RuntimeClass is not there":    {seenOf(poolOf(1), with(member(1, long, unreadyBy(sandboxv1beta1.ReasonRuntimeClassNotFound)))), plan{}},
		"until the template is another":              {seenOf(poolOf(1), with(member(1, refusedPod, stale))), plan{remove: removing(member(1, refusedPod, stale))}},
		"a stale one that is ready serves (A4.12)":   {seenOf(poolOf(1), with(member(1, stale))), plan{}},
		"under Recreate it goes at once (A4.12)":     {seenOf(poolOf(1, recreating), with(member(1, stale))), plan{remove: removing(member(1, stale))}},
		"one that was ready has its time from then on": {
			seenOf(poolOf(1), with(member(1, func(s *sandboxv1beta1.Sandbox) {
				long(s)
				s.Status.Conditions[0].LastTransitionTime.Time = testNow.Add(-time.Minute)
			}))), plan{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, withoutWake(decide(tc.seen, testLimits)), cmp.AllowUnexported(plan{}, target{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A node that is cordoned for a while changes nothing; for longer, its members are made anew elsewhere, if there is room.
func TestDecideAboutMembersOnAClosedNode(t *testing.T) {
	const long = 6 * time.Minute
	unplaced := func(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
		return member(3, append([]func(*sandboxv1beta1.Sandbox){unreadyFor(time.Minute), scheduled("False", "Unschedulable")}, modify...)...)
	}
	patient := func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.ReadinessGracePeriodSeconds = ptr.To[int32](600) }
	cases := map[string]struct {
		seen        seen
		want        plan
		least, most time.Duration
	}{
		"for a while: it stays": {
			seenOf(poolOf(2), with(member(1), member(2)), closedFor(time.Minute, member(1))), plan{}, 4 * time.Minute, 4*time.Minute + longestJitter,
		},
		"for longer than its grace period: it goes": {
			seenOf(poolOf(2), with(member(1), member(2)), closedFor(long, member(1))), plan{remove: removing(member(1))}, 0, 0,
		},
		"a pool may be more patient": {
			seenOf(poolOf(1, patient), with(member(1)), closedFor(long, member(1))), plan{}, 4 * time.Minute, 4*time.Minute + longestJitter,
		},
		"no room for another: it stays": {
			seenOf(poolOf(2), with(member(1), unplaced()), closedFor(long, member(1))), plan{}, time.Minute, time.Minute,
		},
		"one that is on its way out says nothing of that": {
			seenOf(poolOf(2), with(member(1), unplaced(leaving)), closedFor(long, member(1))), plan{remove: removing(member(1))}, 0, 0,
		},
		"nor does one of the former template": {
			seenOf(poolOf(2), with(member(1), unplaced(stale)), closedFor(long, member(1))), plan{remove: removing(member(1), unplaced(stale))}, 0, 0,
		},
		"a stale one serves again when the node does": {
			seenOf(poolOf(1), with(member(1, stale)), closedFor(time.Minute, member(1))), plan{}, 4 * time.Minute, 4*time.Minute + longestJitter,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := decide(tc.seen, testLimits)
			if diff := cmp.Diff(tc.want, withoutWake(p), cmp.AllowUnexported(plan{}, target{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if p.wake < tc.least || p.wake > tc.most {
				t.Errorf("wakes in %v, want %v to %v", p.wake, tc.least, tc.most)
			}
		})
	}
}

func recreating(p *extensionsv1beta1.SandboxWarmPool) {
	p.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyRecreate
}

func TestDecideWakesWhenTimeAloneChangesThings(t *testing.T) {
	cases := map[string]struct {
		seen        seen
		least, most time.Duration
	}{
		"when a member has had its time (A4.3)": {seenOf(poolOf(1), with(member(1, unreadyFor(time.Minute)))), 4 * time.Minute, 4*time.Minute + longestJitter},
		"to look again at those without a node": {seenOf(poolOf(1), with(member(1, unreadyFor(time.Minute), scheduled("False", "Unschedulable")))), time.Minute, time.Minute},
		"when there is a token":                 {seenOf(poolOf(1), func(s *seen) { s.tokens, s.nextToken = 0, time.Second }), time.Second, time.Second},
		"when claims have had their turn":       {seenOf(poolOf(1), func(s *seen) { s.yielded = 3 * time.Second }), 3 * time.Second, 3 * time.Second},
		"when what was lost has waited": {
			seenOf(poolOf(5), with(member(1)), func(s *seen) { s.held, s.heldFor = 2, 7*time.Second }), 7 * time.Second, 7 * time.Second,
		},
		"not for what is not wanted any more": {
			seenOf(poolOf(1), with(member(1, leaving)), func(s *seen) { s.held, s.heldFor = 1, 7*time.Second }), 0, 0,
		},
		"not after a part of the tokens that it wants (A4.19)": {seenOf(poolOf(5), func(s *seen) { s.tokens, s.nextToken = 2, time.Second }), 0, 0},
		"not with nothing to wait for":                         {seenOf(poolOf(1), with(member(1))), 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if wake := decide(tc.seen, testLimits).wake; wake < tc.least || wake > tc.most {
				t.Errorf("wakes in %v, want %v to %v", wake, tc.least, tc.most)
			}
		})
	}
}

// A4.3: members of one age are not given up at one moment, and none before its time.
func TestMembersOfOneAgeAreGivenUpOneAfterTheOther(t *testing.T) {
	s := seenOf(poolOf(50))
	moments := map[time.Duration]bool{}
	for n := range 50 {
		left := s.left(member(n, unreadyFor(time.Minute)), testLimits)
		if left < 4*time.Minute || left > 4*time.Minute+longestJitter {
			t.Errorf("member %d has %v left", n, left)
		}
		moments[left] = true
	}
	if len(moments) < 25 {
		t.Errorf("50 members are given up at %d moments", len(moments))
	}
}

// A4.18: no rate overflows, and a bucket never holds more than a batch.
func TestTokens(t *testing.T) {
	cases := map[string]struct {
		rate          float64
		spent, tokens int
		next          time.Duration
	}{
		"no limit":                  {0, 300, 300, 0},
		"a full bucket":             {10, 0, 10, 0},
		"an empty one":              {10, 10, 0, 100 * time.Millisecond},
		"a rate beyond all bounds":  {1e18, 0, 300, 0},
		"a rate of next to nothing": {1e-18, 1, 0, longestWait},
		"less than one in a second": {0.5, 1, 0, 2 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := NewBuckets(tc.rate, 300)
			b.Spend("pool", testNow, tc.spent)
			tokens, next := b.Tokens("pool", testNow)
			if tokens != tc.tokens || next != tc.next {
				t.Errorf("%d tokens, the next in %v", tokens, next)
			}
			b.Forget("pool")
			if b.Len() != 0 {
				t.Error("a bucket is kept")
			}
		})
	}
}

func TestUnanswered(t *testing.T) {
	u := NewUnanswered()
	u.Add("pool", "b")
	u.Add("pool", "a")
	u.Add("other", "c")
	if diff := cmp.Diff([]string{"a", "b"}, u.Of("pool")); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	u.Settle("pool", "a")
	u.Settle("pool", "b")
	u.Forget("other")
	if u.Len() != 0 {
		t.Errorf("kept of %d pools", u.Len())
	}
}
