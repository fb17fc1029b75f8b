package candidates

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const testPool = types.UID("pool")

var testStart = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// member is the n-th of its pool, on the node.
func member(n int, node string, modify ...func(*Member)) Member {
	name := fmt.Sprintf("m%d", n)
	m := Member{
		Key: types.NamespacedName{Namespace: "ns", Name: name}, UID: types.UID(name), Version: "10", Pool: testPool,
		Created: testStart.Add(time.Duration(n) * time.Second), Node: node,
	}
	for _, change := range modify {
		change(&m)
	}
	return m
}

func at(version string) func(*Member) { return func(m *Member) { m.Version = version } }

func anyMember(Member) bool { return true }

// takeAll returns the names of what is handed out until there is nothing left.
func takeAll(c *Candidates, pool types.UID) []string {
	var names []string
	for {
		taken, ok := c.Take(pool, anyMember)
		if !ok {
			return names
		}
		names = append(names, taken.Key.Name)
	}
}

func node1(modify ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, change := range modify {
		change(n)
	}
	return n
}

func TestWhatIsHandedOut(t *testing.T) {
	cases := map[string]struct {
		tell func(*Candidates)
		want []string
	}{
		"the oldest first": {func(c *Candidates) {
			c.Observe(member(2, "n1"))
			c.Observe(member(1, "n1"))
		}, []string{"m1", "m2"}},
		"from the node that has most": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.Observe(member(2, "n2"))
			c.Observe(member(3, "n2"))
		}, []string{"m2", "m1", "m3"}},
		"none of another pool": {func(c *Candidates) {
			c.Observe(member(1, "n1", func(m *Member) { m.Pool = "other" }))
		}, nil},
		"none that is gone": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.Forget("m1")
		}, nil},
		"none on a cordoned node": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.ObserveNode(node1(cordoned))
		}, nil},
		"none on a node that is not ready": {func(c *Candidates) {
			c.ObserveNode(node1(func(n *corev1.Node) { n.Status.Conditions = nil }))
			c.Observe(member(1, "n1"))
		}, nil},
		"none on a node that is gone": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.ForgetNode("n1")
		}, nil},
		"only what tolerates a taint that drives Pods out": {func(c *Candidates) {
			c.ObserveNode(node1(draining))
			c.Observe(member(1, "n1"))
			c.Observe(member(2, "n1", tolerant))
		}, []string{"m2"}},
		"again once the node is as it was": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.ObserveNode(node1(draining))
			c.ObserveNode(node1())
		}, []string{"m1"}},
		"where it runs now": {func(c *Candidates) {
			c.Observe(member(1, "n1"))
			c.Observe(member(1, "n2", at("11")))
			c.ObserveNode(node1(draining))
		}, []string{"m1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			tc.tell(c)
			if diff := cmp.Diff(tc.want, takeAll(c, testPool)); diff != "" {
				t.Errorf("handed out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMemberIsHandedOutOnce(t *testing.T) {
	cases := map[string]struct {
		then func(*Candidates)
		want []string
	}{
		"while its write is under way":                           {func(*Candidates) {}, nil},
		"also when another version is seen meanwhile":            {func(c *Candidates) { c.Observe(member(1, "n1", at("11"))) }, nil},
		"but again when it was given back":                       {func(c *Candidates) { c.Return("m1") }, []string{"m1"}},
		"nor when somebody gave it back who had it before":       {func(c *Candidates) { c.Return("m1"); c.Written("m1", "11") }, nil},
		"nor when an earlier try gives it back that went astray": {func(c *Candidates) { c.Written("m1", "11"); c.Return("m1") }, nil},
		"not while the informer shows what was before":           {func(c *Candidates) { c.Written("m1", "12"); c.Observe(member(1, "n1", at("11"))) }, nil},
		"but again when a version since then shows the pool":     {func(c *Candidates) { c.Written("m1", "12"); c.Observe(member(1, "n1", at("13"))) }, []string{"m1"}},
		"also when that version was seen before the answer":      {func(c *Candidates) { c.Observe(member(1, "n1", at("13"))); c.Written("m1", "12") }, []string{"m1"}},
		"never once the informer shows that it is no candidate":  {func(c *Candidates) { c.Written("m1", "12"); c.Forget("m1") }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			c.Observe(member(1, "n1"))
			if _, ok := c.Take(testPool, anyMember); !ok {
				t.Fatal("nothing was handed out")
			}
			tc.then(c)
			if diff := cmp.Diff(tc.want, takeAll(c, testPool)); diff != "" {
				t.Errorf("handed out again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatDoesNotFitStays(t *testing.T) {
	c := New()
	for n := range 4 {
		c.Observe(member(n, "n1"))
	}
	taken, ok := c.Take(testPool, func(m Member) bool { return m.UID == "m2" })
	if !ok || taken.UID != "m2" {
		t.Fatalf("took %v, %v", taken, ok)
	}
	if c.Count(testPool) != 3 {
		t.Errorf("%d are left", c.Count(testPool))
	}
	if diff := cmp.Diff([]string{"m0", "m1", "m3"}, takeAll(c, testPool)); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
}

// A3.26: what is gone leaves nothing behind.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	c := New()
	for n := range 100 {
		c.Observe(member(n, fmt.Sprintf("n%d", n%7)))
	}
	for range 50 {
		taken, _ := c.Take(testPool, anyMember)
		c.Written(taken.UID, "11")
	}
	for n := range 100 {
		c.Forget(member(n, "").UID)
	}
	if len(c.members)+len(c.pools)+len(c.onNode) != 0 {
		t.Errorf("kept %d members, %d pools, %d nodes", len(c.members), len(c.pools), len(c.onNode))
	}
}

// A3.2: however many ask at the same time, each member goes to one of them.
func TestManyAtOnceNeverShareAMember(t *testing.T) {
	c := New()
	for n := range 200 {
		c.Observe(member(n, fmt.Sprintf("n%d", n%10)))
	}
	var mu sync.Mutex
	taken := map[types.UID]int{}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 5 {
				if m, ok := c.Take(testPool, anyMember); ok {
					mu.Lock()
					taken[m.UID]++
					mu.Unlock()
					c.Written(m.UID, "11")
				}
			}
		})
	}
	all.Wait()
	if len(taken) != 200 {
		t.Errorf("%d were handed out", len(taken))
	}
	for uid, times := range taken {
		if times != 1 {
			t.Errorf("%s was handed out %d times", uid, times)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := New()
			for n := range size {
				c.Observe(member(n, fmt.Sprintf("n%d", n%10)))
			}
			for b.Loop() {
				taken, _ := c.Take(testPool, anyMember)
				c.Return(taken.UID)
			}
		})
	}
}
