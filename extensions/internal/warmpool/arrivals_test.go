package warmpool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// What becomes Ready in a pool is remembered, whoever has it afterwards.
func TestWhatBecomesReadyIsRemembered(t *testing.T) {
	readyAt := func(n int, at time.Time, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
		box := member(n, modify...)
		box.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at)
		return box
	}
	claimed := func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].Kind = extensionsv1beta1.SandboxClaimKind }
	earlier := testNow.Add(-time.Minute)
	cases := map[string]struct {
		told []*sandboxv1beta1.Sandbox
		want time.Time
	}{
		"nothing is":                           {nil, time.Time{}},
		"a member is":                          {[]*sandboxv1beta1.Sandbox{readyAt(1, testNow)}, testNow},
		"the last of several":                  {[]*sandboxv1beta1.Sandbox{readyAt(1, earlier), readyAt(2, testNow), readyAt(3, earlier)}, testNow},
		"also after a claim has taken it":      {[]*sandboxv1beta1.Sandbox{readyAt(1, earlier), readyAt(1, earlier, claimed)}, earlier},
		"not what becomes so under a claim":    {[]*sandboxv1beta1.Sandbox{readyAt(1, earlier), readyAt(1, testNow, claimed)}, earlier},
		"one that is not Ready is none":        {[]*sandboxv1beta1.Sandbox{readyAt(1, testNow, unreadyFor(time.Minute))}, time.Time{}},
		"nor is one of the template of before": {[]*sandboxv1beta1.Sandbox{readyAt(1, testNow, stale)}, time.Time{}},
		"nor one of another pool": {[]*sandboxv1beta1.Sandbox{readyAt(1, testNow, func(s *sandboxv1beta1.Sandbox) {
			s.OwnerReferences[0].UID = "uid-other"
		})}, time.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reconciler, _ := newReconciler(t, nil)
			reconciler.arrivals.Last("uid-pool", testHash())
			for _, box := range tc.told {
				reconciler.SeeMember(box)
			}
			if got := reconciler.arrivals.Last("uid-pool", testHash()); !got.Equal(tc.want) {
				t.Errorf("the last became ready at %v, want %v", got, tc.want)
			}
		})
	}
}

// What is gone, or is lost, leaves nothing behind, though its members tell of themselves once more.
func TestArrivalsMayBeLost(t *testing.T) {
	arrivals := NewArrivals()
	arrivals.Last("pool", "hash")
	arrivals.Tell("pool", "hash", testNow)
	arrivals.Forget("pool")
	arrivals.Forget("never seen")
	arrivals.Tell("pool", "hash", testNow)
	if arrivals.Len() != 0 {
		t.Errorf("%d pools are remembered", arrivals.Len())
	}
	if got := arrivals.Last("pool", "hash"); !got.IsZero() {
		t.Errorf("after a restart one became ready at %v", got)
	}
}
