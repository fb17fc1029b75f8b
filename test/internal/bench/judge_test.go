package bench

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/audit"
)

// claimOf returns a claim that has published a Sandbox of that name; empty: none.
func claimOf(name, sandbox string) *extensionsv1beta1.SandboxClaim {
	claim := desiredClaim(name, poolName)
	claim.UID = types.UID(name)
	claim.Status.Sandbox.Name = sandbox
	if sandbox != "" {
		claim.Status.Conditions = []metav1.Condition{readyCondition(0)}
	}
	return claim
}

// memberOf returns a Ready Sandbox that a claim of that name controls; empty: its pool does.
func memberOf(name, claim string) *sandboxv1beta1.Sandbox {
	member := desiredMember(desiredPool(poolName, 1), name)
	member.UID = types.UID(name)
	member.Status.Conditions = []metav1.Condition{readyCondition(0)}
	if claim != "" {
		member.OwnerReferences = []metav1.OwnerReference{claimRef(claimOf(claim, ""))}
	}
	return member
}

func coldOf(claim string) *sandboxv1beta1.Sandbox {
	sandbox := desiredCold(claimOf(claim, ""))
	sandbox.UID = types.UID(claim)
	return sandbox
}

// tableWrites are what the table allows for one claim.
func tableWrites() audit.Counts {
	counts := audit.Counts{{User: extensionsController().user(), Verb: "patch", Resource: poolResource + "/status", Code: 200}: 7}
	for _, k := range []audit.Kind{
		{User: extensionsController().user(), Verb: "patch", Resource: sandboxResource},
		{User: extensionsController().user(), Verb: "patch", Resource: claimResource},
		{User: extensionsController().user(), Verb: "patch", Resource: claimResource + "/status"},
		{User: extensionsController().user(), Verb: "create", Resource: sandboxResource},
		{User: coreController().user(), Verb: "patch", Resource: "pods"},
		{User: coreController().user(), Verb: "create", Resource: "pods"},
		{User: coreController().user(), Verb: "patch", Resource: sandboxResource + "/status"},
	} {
		k.Code = 200
		counts[k] = 1
	}
	return counts
}

func with(counts audit.Counts, n int, who controller, verb, resource string, code int) audit.Counts {
	counts[audit.Kind{User: who.user(), Verb: verb, Resource: resource, Code: code}] += n
	return counts
}

func TestJudgmentsOfClaims(t *testing.T) {
	core, extensions := coreController(), extensionsController()
	bound := []any{memberOf("m", ""), memberOf("m", "a"), claimOf("a", "m")}
	for _, tt := range []struct {
		name       string
		judge      judgment
		seen       []any
		requests   audit.Counts
		reconciles float64
		want       string // in the error; empty: none
	}{
		{"a warm claim at the price in the table", judgeWarm, bound, tableWrites(), 3, ""},
		{"a second status of the member that comes", judgeWarm, bound, with(tableWrites(), 1, core, "patch", "sandboxes/status", 200), 3, ""},
		{"a third one", judgeWarm, bound, with(tableWrites(), 2, core, "patch", "sandboxes/status", 200), 3, "3 writes for 1 claims, want 1 to 2: core: patch sandboxes/status"},
		{"a second status of the claim", judgeWarm, bound, with(tableWrites(), 1, extensions, "patch", "sandboxclaims/status", 200), 3, "want 1 to 1: extensions: patch sandboxclaims/status"},
		{"a write that the table does not know", judgeWarm, bound, with(tableWrites(), 1, core, "delete", "pods", 200), 3, "1 writes for 1 claims, want 0 to 0: core: delete pods"},
		{"a Pod that was left alone", judgeWarm, bound, with(tableWrites(), -1, core, "patch", "pods", 200), 3, "0 writes for 1 claims, want 1 to 1: core: patch pods"},
		{"a conflict", judgeDrained, bound, with(tableWrites(), 1, extensions, "patch", "sandboxes", 409), 3, "refused 1 times: patch sandboxes, 409"},
		{"a pass too many", judgeWarm, bound, tableWrites(), 4, "4.00 reconciles for each claim, want 3 at most"},
		{"a claim that started cold", judgeWarm, []any{coldOf("a"), claimOf("a", "a")}, tableWrites(), 3, "0 of 1 claims got a member"},
		{"a claim that started cold beside a member", judgeDrained, []any{memberOf("m", ""), coldOf("a"), claimOf("a", "a")}, nil, 3, "0 claims got a member of the pool, which had 1"},
		{"a Sandbox of two claims", judgeWarm, append([]any{memberOf("m", "b")}, bound...), tableWrites(), 3, `Sandbox "m" (m) was given to several claims`},
		{"a claim of two Sandboxes", judgeWarm, append([]any{memberOf("n", "a")}, bound...), tableWrites(), 3, `claim "a" (a) got several Sandboxes`},
		{"a name that two claims have published", judgeWarm, append(bound[:3:3], claimOf("b", "m")), tableWrites(), 3, `Sandbox "m" was published by several claims`},
		{"a claim that has published two names", judgeWarm, append([]any{claimOf("a", "n")}, bound...), tableWrites(), 3, `claim "a" (a) has published several names`},
		{"a member too many, for a moment", judgeWarm, append([]any{memberOf("n", "")}, bound...), tableWrites(), 3, `pool "pool" had 2 members, want 1 at most`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{side: oursSide, names: []string{"a"}, scene: &scene{load: load{pool: 1}, tracker: newTestTracker(tt.seen...)}}
			c := costs{counted: true, requests: tt.requests, reconciles: map[string]float64{"sandboxclaim": tt.reconciles}}
			err := errors.Join(tt.judge(r, phase{}, c)...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSustainedClaimsAreJudgedByWhatThePoolsHad(t *testing.T) {
	inPool := func(name, pool string) *sandboxv1beta1.Sandbox {
		member := memberOf(name, "")
		member.OwnerReferences[0].Name = pool
		return member
	}
	cold := []any{coldOf("a"), claimOf("a", "a")}
	for _, tt := range []struct {
		name     string
		before   []any
		seen     []any // while claims come
		requests audit.Counts
		fewest   int
		want     string // in the error; empty: none
	}{
		{"a warm claim at the price in the table", []any{inPool("m", "pool-1"), inPool("n", "pool-2")},
			[]any{memberOf("m", "a"), claimOf("a", "m"), inPool("o", "pool-1")}, tableWrites(), 0, ""},
		{"a warm claim at a higher price", []any{inPool("m", "pool-1"), inPool("n", "pool-2")},
			[]any{memberOf("m", "a"), claimOf("a", "m")}, with(tableWrites(), 1, coreController(), "delete", "pods", 200), 0, "core: delete pods"},
		{"a cold claim while another pool has a member", []any{inPool("m", "pool-1")}, cold, nil, 0, ""},
		{"a cold claim while each pool has one", []any{inPool("m", "pool-1"), inPool("n", "pool-2")}, cold, nil, 1,
			"1 claims got no member, though 1 were Ready in each pool"},
		{"a cold claim when the last member has just gone", []any{inPool("m", "pool-1"), inPool("n", "pool-2")},
			append([]any{memberOf("m", "b"), claimOf("b", "m")}, cold...), nil, 0, ""},
		{"a member too many in the second pool", []any{inPool("m", "pool-1"), inPool("n", "pool-2")},
			[]any{memberOf("m", "a"), claimOf("a", "m"), inPool("o", "pool-2")}, tableWrites(), 0, `pool "pool-2" had 2 members, want 1 at most`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker := newTestTracker(tt.before...)
			tracker.beginPhase()
			for _, seen := range tt.seen {
				tracker.see(seen, present)
			}
			r := &round{side: oursSide, names: []string{"a"}, scene: &scene{load: load{pools: 2, pool: 1}, tracker: tracker}}
			if got := r.fewestMembers(); got != tt.fewest {
				t.Errorf("the emptiest pool had %d members, want %d", got, tt.fewest)
			}
			err := errors.Join(judgeSustained(r, phase{}, costs{counted: true, requests: tt.requests})...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestGoalsOfClaimsAndPools(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   string
		goal func(view) bool
		seen []any
		want bool
	}{
		{"a claim with its Sandbox", "a", isClaimed, []any{claimOf("a", "m")}, true},
		{"a claim without", "a", isClaimed, []any{claimOf("a", "")}, false},
		{"a pool with its member", poolName, hasMembers(1), []any{memberOf("m", "")}, true},
		{"a pool with one of two", poolName, hasMembers(2), []any{memberOf("m", "")}, false},
		{"a pool whose member was claimed", poolName, hasMembers(0), []any{memberOf("m", ""), memberOf("m", "a")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker := newTracker()
			reached := tracker.await(tt.of, tt.goal)
			for _, seen := range tt.seen {
				tracker.see(seen, present)
			}
			if got := len(reached) == 1; got != tt.want {
				t.Errorf("reached: %v, want %v", got, tt.want)
			}
		})
	}
}
