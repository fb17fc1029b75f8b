package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

func TestWhatIsWellIsNoViolation(t *testing.T) {
	cases := map[string]func() *check.Case{
		"a Sandbox that runs":             running,
		"a suspended one":                 suspended,
		"an expired one that is kept":     expired,
		"one that was deleted":            gone,
		"one that left children":          orphaned,
		"one that was due and is deleted": dueAndGone,
		"a suspended one beside a Pod that was left behind": func() *check.Case {
			c := suspended()
			c.Accounts[box].Orphaned = true
			left := pod(sandboxOf(c))
			left.OwnerReferences = nil
			c.World.Pods = []corev1.Pod{*left}
			sandboxOf(c).Status.Conditions[1].Status, sandboxOf(c).Status.Conditions[1].Reason = "False", "PodNotOwned"
			return c
		},
		"one that took over a Pod made from another spec": func() *check.Case {
			c := running()
			c.Accounts[box].Orphaned = true
			addCondition(c, sandboxv1beta1.ConditionPodTemplateDrifted)
			return c
		},
		"one that expired before it got a disk": func() *check.Case {
			c := expired()
			c.World.Claims, c.Disks = nil, nil
			return c
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, v := range c().Violations() {
				t.Errorf("unwanted: %s", v)
			}
		})
	}
}

func dueAndGone() *check.Case {
	c := expired()
	c.Accounts[box].Sandbox.Spec.ShutdownPolicy = sandboxv1beta1.ShutdownPolicyDelete
	c.World = check.World{}
	return c
}

func addCondition(c *check.Case, kind string) {
	status := &sandboxOf(c).Status
	status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: "True", Reason: "Some", ObservedGeneration: 3})
}

// broken is a case in which one thing is wrong.
type broken struct {
	from  func() *check.Case
	spoil func(*check.Case)
	want  string
}

func testBroken(t *testing.T, cases map[string]broken) {
	t.Helper()
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			c := b.from()
			b.spoil(c)
			var all []string
			for _, v := range c.Violations() {
				all = append(all, v.String())
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, b.want) {
				t.Errorf("violations:\n%s\nwant one that contains %q", text, b.want)
			}
		})
	}
}

func TestBrokenSandboxesAreFound(t *testing.T) {
	testBroken(t, map[string]broken{
		"a Sandbox that is gone":                {running, func(c *check.Case) { c.World = check.World{} }, "it is gone, and nobody was to delete it"},
		"one that was deleted and is there":     {running, func(c *check.Case) { c.Accounts[box].Deleted() }, "it was deleted and still exists"},
		"one that nobody made":                  {running, func(c *check.Case) { delete(c.Accounts, box) }, "nobody made it"},
		"another of its name":                   {running, func(c *check.Case) { c.Accounts[box].Sandbox.UID = "other" }, "its UID is uid-box, and the user's is other"},
		"another spec than the user's":          {running, func(c *check.Case) { sandboxOf(c).Spec.OperatingMode = "Suspended" }, "its spec is not the user's"},
		"one that was due and is there":         {expired, makeDue, "and was to be deleted at 2026-01-01"},
		"a status of an older generation":       {running, func(c *check.Case) { sandboxOf(c).Generation = 4 }, "condition Ready is of generation 3, the Sandbox of 4"},
		"a running one that is not ready":       {running, unready, "want condition Ready=True DependenciesReady, it is False DependenciesNotReady"},
		"no condition":                          {running, func(c *check.Case) { sandboxOf(c).Status.Conditions = nil }, "want condition Suspended=False NotSuspended, there is none"},
		"a condition without a cause":           {running, func(c *check.Case) { addCondition(c, "Finished") }, "condition Finished=True Some has no cause"},
		"a drift without a cause":               {running, func(c *check.Case) { addCondition(c, "PodTemplateDrifted") }, "condition PodTemplateDrifted=True Some has no cause"},
		"IPs of another Pod":                    {running, func(c *check.Case) { sandboxOf(c).Status.PodIPs = []string{"10.0.0.2"} }, "its status has IPs [10.0.0.2]"},
		"IPs of a Pod that is gone":             {suspended, func(c *check.Case) { sandboxOf(c).Status.PodIPs = []string{"10.0.0.1"} }, "its status has IPs [10.0.0.1]"},
		"the node of a Pod that is gone":        {suspended, func(c *check.Case) { sandboxOf(c).Status.NodeName = "node" }, `and node "node"`},
		"no Service in the status":              {running, func(c *check.Case) { sandboxOf(c).Status.Service = "" }, `its status has service ""`},
		"a Service in the status after expiry":  {expired, func(c *check.Case) { sandboxOf(c).Status.Service = box }, `its status has service "box"`},
		"a selector in the status after expiry": {expired, func(c *check.Case) { sandboxOf(c).Status.LabelSelector = "a=b" }, `its status has selector "a=b"`},
		"an expired one that says it is ready":  {expired, func(c *check.Case) { sandboxOf(c).Status.Conditions[0].Status = "True" }, "want condition Ready=False SandboxExpired"},
	})
}

func makeDue(c *check.Case) {
	rewrite(c, func(s *sandboxv1beta1.SandboxSpec) { s.ShutdownPolicy = sandboxv1beta1.ShutdownPolicyDelete })
}

func unready(c *check.Case) {
	condition := &sandboxOf(c).Status.Conditions[0]
	condition.Status, condition.Reason = "False", "DependenciesNotReady"
}

func TestBrokenChildrenAreFound(t *testing.T) {
	testBroken(t, map[string]broken{
		"a second Pod":                         {running, secondPod, "want one Pod, there are 2: box (UID uid-pod, Running), other (UID uid-second, Running)"},
		"no Pod":                               {running, func(c *check.Case) { c.World.Pods = nil }, "want one Pod, there are 0"},
		"a Pod of a suspended Sandbox":         {suspended, givePod, "it is Suspended and controls Pods: box"},
		"a Pod of an expired Sandbox":          {expired, givePod, "it is Running and controls Pods: box"},
		"a Pod of a Sandbox that is gone":      {gone, func(c *check.Case) { c.World.Pods = running().World.Pods }, "Pod box: its Sandbox (UID uid-box) does not exist"},
		"a Pod of an earlier Sandbox":          {running, func(c *check.Case) { c.World.Pods[0].OwnerReferences[0].UID = "earlier" }, "its Sandbox (UID earlier) does not exist"},
		"a Pod without an owner":               {gone, leaveUnowned, "Pod box: it has no owner, and nobody left it behind"},
		"a Pod that was to be taken over":      {running, unownedPod, "Pod box: it has no owner, and its Sandbox was to take it over"},
		"a Pod of the wrong name":              {running, func(c *check.Case) { c.World.Pods[0].Name = "other" }, "it has another name than its Sandbox"},
		"a Pod without labels":                 {running, func(c *check.Case) { c.World.Pods[0].Labels = nil }, "Pod box: want label agents.x-k8s.io/sandbox-name-hash="},
		"a Pod that is not up":                 {running, func(c *check.Case) { c.World.Pods[0].Status.Phase = "Pending" }, "Pod box: its phase is Pending"},
		"a Pod with two owners":                {running, secondOwner, "want one owner, it has Sandbox box (UID uid-box), Sandbox other"},
		"a Pod that does not go":               {running, terminate, "Pod box: it has been terminating since 2026-01-01"},
		"no PersistentVolumeClaim":             {suspended, func(c *check.Case) { c.World.Claims = nil }, "want one PersistentVolumeClaim, there are 0"},
		"an expired one without its disk":      {expired, func(c *check.Case) { c.World.Claims = nil }, "want one PersistentVolumeClaim, there are 0"},
		"another disk than before":             {running, func(c *check.Case) { c.World.Claims[0].UID = "other" }, "its UID is other, and its Sandbox had one of UID uid-disk first"},
		"a disk of a Sandbox that is gone":     {gone, func(c *check.Case) { c.World.Claims = running().World.Claims }, "PersistentVolumeClaim data-box: its Sandbox (UID uid-box) does not exist"},
		"a disk that was left behind and lost": {orphaned, func(c *check.Case) { c.World.Claims = nil }, "the one that was left behind (UID uid-disk) is gone"},
		"a disk that was left and replaced":    {running, func(c *check.Case) { c.Accounts[box].Disk = "uid-left" }, "the one that was left behind (UID uid-left) is gone"},
		"no Service":                           {suspended, func(c *check.Case) { c.World.Services = nil }, "want one Service, there are 0"},
		"a Service that was not asked for":     {running, func(c *check.Case) { rewrite(c, dropService) }, "it controls 1 Services, want none"},
		"a Service of an expired Sandbox":      {expired, func(c *check.Case) { c.World.Services = running().World.Services }, "it controls 1 Services, want none"},
		"a Service that selects other Pods":    {running, func(c *check.Case) { c.World.Services[0].Spec.Selector = nil }, "Service box: it selects map[]"},
		"a Service of a Sandbox that is gone":  {gone, func(c *check.Case) { c.World.Services = running().World.Services }, "Service box: its Sandbox (UID uid-box) does not exist"},
	})
}

func secondPod(c *check.Case) {
	second := pod(sandboxOf(c))
	second.Name, second.UID = "other", types.UID("uid-second")
	c.World.Pods = append(c.World.Pods, *second)
}

func givePod(c *check.Case) { c.World.Pods = running().World.Pods }

func leaveUnowned(c *check.Case) {
	givePod(c)
	c.World.Pods[0].OwnerReferences = nil
}

func unownedPod(c *check.Case) {
	c.Accounts[box].Orphaned = true
	c.World.Pods[0].OwnerReferences = nil
}

func secondOwner(c *check.Case) {
	references := &c.World.Pods[0].OwnerReferences
	*references = append(*references, metav1.OwnerReference{Kind: "Sandbox", Name: "other", UID: "other"})
}

func terminate(c *check.Case) { c.World.Pods[0].DeletionTimestamp = ptr.To(metav1.NewTime(now())) }

func dropService(s *sandboxv1beta1.SandboxSpec) { s.Service = nil }

func TestPodsThatAreDeletedWithoutAReasonAreFound(t *testing.T) {
	accounts := map[string]*check.Account{"a": {PodEnds: 2}, "b": {}}
	if found := check.PodEnds(accounts, map[string]int{"a": 2}); len(found) > 0 {
		t.Errorf("unwanted: %v", found)
	}
	found := check.PodEnds(accounts, map[string]int{"a": 3, "b": 1, "c": 1})
	want := []string{
		"Pod a: its controller deleted it 3 times, and there was reason for 2 at most",
		"Pod b: its controller deleted it 1 times, and there was reason for 0 at most",
		"Pod c: its controller deleted it 1 times, and there was reason for 0 at most",
	}
	var got []string
	for _, v := range found {
		got = append(got, v.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
