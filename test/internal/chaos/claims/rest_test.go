package claims_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/claims"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// atRest is a case in which all is well: a claim with its Sandbox, one that has expired, and a pool with a member.
func atRest() *claims.Case {
	box, member := sandbox("box", ofClaim("a")), sandbox("member", ofPool())
	past := until(now().Add(-time.Minute), extensionsv1beta1.ShutdownPolicyRetain)
	served, ended := claim("a", having("box")), claim("b", past, expired)
	pool := thePool(1)
	pool.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyRecreate
	return &claims.Case{
		Now:      now(),
		Pools:    map[string]int32{"pool": 1},
		Accounts: map[string]*claims.Account{"a": {Claim: claim("a")}, "b": {Claim: claim("b", past)}, "c": {}},
		World: claims.World{
			Bindings: []extensionsv1beta1.SandboxClaim{*served, *ended},
			Pools:    []extensionsv1beta1.SandboxWarmPool{*pool},
			World: check.World{
				Sandboxes: []sandboxv1beta1.Sandbox{*box, *member}, Pods: []corev1.Pod{*pod(box), *pod(member)},
			},
		},
	}
}

// add puts another Sandbox with its Pod into the world.
func add(c *claims.Case, box *sandboxv1beta1.Sandbox) {
	c.World.Sandboxes = append(c.World.Sandboxes, *box)
	c.World.Pods = append(c.World.Pods, *pod(box))
}

func TestClaimsAtRest(t *testing.T) {
	cases := map[string]struct {
		change func(*claims.Case)
		want   string
	}{
		"all is well": {func(*claims.Case) {}, ""},
		"a claim that was deleted is there": {func(c *claims.Case) { c.Accounts["a"].Claim = nil },
			"SandboxClaim a: it was deleted and still exists"},
		"a claim is there that was to be deleted": {func(c *claims.Case) {
			c.Accounts["b"].Claim.Spec.Lifecycle.ShutdownPolicy = extensionsv1beta1.ShutdownPolicyDelete
		}, "SandboxClaim b: it still exists, and was to be deleted at"},
		"a claim is gone": {func(c *claims.Case) { c.Accounts["c"].Claim = claim("c") },
			"SandboxClaim c: it is gone, and nobody was to delete it"},
		"a claim is gone as it was to be": {func(c *claims.Case) {
			c.Accounts["c"].Claim = claim("c", until(now().Add(-time.Minute), extensionsv1beta1.ShutdownPolicyDeleteForeground))
		}, ""},
		"a claim nobody made":   {func(c *claims.Case) { delete(c.Accounts, "b") }, "SandboxClaim b: nobody made it"},
		"another claim":         {func(c *claims.Case) { c.Accounts["a"].Claim.UID = "x" }, "SandboxClaim a: its UID is a, and the user's is x"},
		"a claim that is going": {func(c *claims.Case) { c.World.Bindings[0] = *going(&c.World.Bindings[0]) }, "SandboxClaim a: somebody deletes it"},
		"a claim of another spec": {func(c *claims.Case) { c.Accounts["a"].Claim.Spec.WarmPoolRef.Name = "x" },
			"SandboxClaim a: its spec is not the user's"},
		"an expired claim that shows a Sandbox": {func(c *claims.Case) { c.World.Bindings[1].Status.Sandbox.Name = "x" },
			"SandboxClaim b: it has expired and does not say so"},
		"an expired claim that does not say so": {func(c *claims.Case) { c.World.Bindings[1].Status.Conditions = nil },
			"SandboxClaim b: it has expired and does not say so"},
		"an expired claim with a Sandbox": {func(c *claims.Case) { add(c, sandbox("x", ofClaim("b"))) },
			"SandboxClaim b: it has expired and still has Sandbox x"},
		"an extra Sandbox": {func(c *claims.Case) { add(c, sandbox("x", ofClaim("a"))) },
			"SandboxClaim a: want one Sandbox of its own, there are 2"},
		"a claim that shows another name": {func(c *claims.Case) { c.World.Bindings[0].Status.Sandbox.Name = "x" },
			`SandboxClaim a: its Sandbox is box, and it says "x"`},
		"a claim that shows other IPs": {func(c *claims.Case) { c.World.Bindings[0].Status.Sandbox.PodIPs = nil },
			"SandboxClaim a: it says that the IPs of its Sandbox are []"},
		"a claim that is not Ready": {func(c *claims.Case) { c.World.Bindings[0].Status.Conditions[0].Status = metav1.ConditionFalse },
			"SandboxClaim a: want it Ready in generation 1, it says False"},
		"a claim that is Ready in an old generation": {func(c *claims.Case) { c.World.Bindings[0].Generation = 2 },
			"SandboxClaim a: want it Ready in generation 2, it says True"},
		"a claim's Sandbox that is labelled as another's": {func(c *claims.Case) {
			c.World.Sandboxes[0].Labels[sandboxv1beta1.LabelClaimUID] = "x"
		}, `SandboxClaim a: its Sandbox is labelled as that of claim "x"`},
		"a claim that is to delete what still stands": {func(c *claims.Case) { discarding("box")(&c.World.Bindings[0]) },
			"SandboxClaim a: it has said that it will delete Sandbox box (UID box), which still stands"},
		"a claim that has deleted an extra": {func(c *claims.Case) { discarding("x")(&c.World.Bindings[0]) }, ""},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) { checkRest(t, tt.change, tt.want) })
	}
}

func TestPoolsAndSandboxesAtRest(t *testing.T) {
	cases := map[string]struct {
		change func(*claims.Case)
		want   string
	}{
		"a pool that is gone": {func(c *claims.Case) { c.Pools["x"] = 1 }, "SandboxWarmPool x: it is gone"},
		"a pool with too few members": {func(c *claims.Case) { c.Pools["pool"] = 2 },
			"SandboxWarmPool pool: it has 1 members, and is to have 2"},
		"a pool that says too little": {func(c *claims.Case) { c.World.Pools[0].Status.ReadyReplicas = 0 },
			"SandboxWarmPool pool: it says that it has 1 members, 0 of them Ready"},
		"a pool that speaks of an old generation": {func(c *claims.Case) { c.World.Pools[0].Generation = 2 },
			"SandboxWarmPool pool: it says that it has 1 members, 1 of them Ready, in generation 1: want 1 and 2"},
		"a pool with members that are stale": {func(c *claims.Case) { c.World.Pools[0].Status.UpdatedReadyReplicas = 0 },
			"SandboxWarmPool pool: its members are to be of one template"},
		"a Sandbox that is going": {func(c *claims.Case) { c.World.Sandboxes[1] = *going(&c.World.Sandboxes[1]) },
			"Sandbox member: it has been terminating since"},
		"a Sandbox of nobody": {func(c *claims.Case) { add(c, sandbox("x")) }, "Sandbox x: it belongs to nobody"},
		"a Sandbox of a claim that is gone": {func(c *claims.Case) { add(c, sandbox("x", ofClaim("gone"))) },
			"Sandbox x: it belongs to SandboxClaim gone (UID gone), and no such claim or pool exists"},
		"a Sandbox that the garbage collector has left": {func(c *claims.Case) {
			add(c, sandbox("x", ofClaim("c")))
			c.Accounts["c"].Hide("c")
		}, ""},
		"the same, in the way of a claim": {func(c *claims.Case) {
			left := sandbox("c", ofClaim("c"))
			left.OwnerReferences[0].UID = "earlier"
			add(c, left)
			c.Accounts["c"].Hide("earlier")
			c.Accounts["c"].Claim = claim("c")
			c.World.Bindings = append(c.World.Bindings, *claim("c"))
		}, ""},
		"the same, and nothing in the way of the claim": {func(c *claims.Case) {
			left := sandbox("x", ofClaim("c"))
			left.OwnerReferences[0].UID = "earlier"
			add(c, left)
			c.Accounts["c"].Hide("earlier")
			c.Accounts["c"].Claim = claim("c")
			c.World.Bindings = append(c.World.Bindings, *claim("c"))
		}, "SandboxClaim c: want one Sandbox of its own, there are 0"},
		"a member that is not Ready": {func(c *claims.Case) { c.World.Sandboxes[1].Status.Conditions = nil },
			"Sandbox member: it has no condition Ready"},
		"a Sandbox without a Pod": {func(c *claims.Case) { c.World.Pods = c.World.Pods[:1] },
			"Sandbox member: want one Pod that runs, there are 0"},
		"a Sandbox whose Pod does not run": {func(c *claims.Case) { c.World.Pods[1].Status.Phase = corev1.PodPending },
			"Sandbox member: want one Pod that runs, there are 1"},
		"a Pod of a Sandbox that is gone": {func(c *claims.Case) { c.World.Pods = append(c.World.Pods, *pod(sandbox("gone"))) },
			"Pod gone: it belongs to Sandbox gone (UID gone), and no such Sandbox exists"},
		"a Pod that is going": {func(c *claims.Case) { c.World.Pods[1] = *going(&c.World.Pods[1]) },
			"Pod member: it has been terminating since"},
		"a disk of nobody": {func(c *claims.Case) {
			c.World.Claims = []corev1.PersistentVolumeClaim{{ObjectMeta: fixture.Named(namespace, "data-x")}}
		}, "PersistentVolumeClaim data-x: it belongs to nobody"},
		"a Service of nobody": {func(c *claims.Case) {
			c.World.Services = []corev1.Service{{ObjectMeta: fixture.Named(namespace, "x")}}
		}, "Service x: it belongs to nobody"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) { checkRest(t, tt.change, tt.want) })
	}
}

func checkRest(t *testing.T, change func(*claims.Case), want string) {
	t.Helper()
	c := atRest()
	change(c)
	var found []string
	for _, v := range c.Violations() {
		found = append(found, v.String())
	}
	checkFound(t, found, want)
}
