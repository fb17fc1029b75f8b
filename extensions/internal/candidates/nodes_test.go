package candidates

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func lost(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func draining(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "gone", Effect: corev1.TaintEffectNoExecute}}
}

// heardFrom is what a node says again and again.
func heardFrom(n *corev1.Node) {
	n.ResourceVersion = "99"
	n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(testStart)
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"image:1"}}}
}

func tolerant(m *Member) {
	m.Tolerations = []corev1.Toleration{{Key: "gone", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
}

func ofPool(name string) func(*Member) {
	return func(m *Member) { m.Pool, m.PoolName = types.UID("uid-"+name), name }
}

// What a node becomes wakes the pools whose members can be handed out no more, or again, and nobody else.
func TestWhomANodeWakes(t *testing.T) {
	cases := map[string]struct {
		before []func(*corev1.Node)
		then   func(*Candidates)
		want   []string
	}{
		"it is cordoned":                       {nil, func(c *Candidates) { c.ObserveNode(node1(cordoned)) }, []string{"a", "b"}},
		"it is lost":                           {nil, func(c *Candidates) { c.ObserveNode(node1(lost)) }, []string{"a", "b"}},
		"it is gone":                           {nil, func(c *Candidates) { c.ForgetNode("n1") }, []string{"a", "b"}},
		"it comes back":                        {[]func(*corev1.Node){cordoned}, func(c *Candidates) { c.ObserveNode(node1()) }, []string{"a", "b"}},
		"it drives out what does not tolerate": {nil, func(c *Candidates) { c.ObserveNode(node1(draining)) }, []string{"a"}},
		"one that is lost is cordoned too":     {[]func(*corev1.Node){lost}, func(c *Candidates) { c.ObserveNode(node1(lost, cordoned)) }, nil},
		"it is heard from":                     {nil, func(c *Candidates) { c.ObserveNode(node1(heardFrom)) }, nil},
		"a cordoned one is heard from":         {[]func(*corev1.Node){cordoned}, func(c *Candidates) { c.ObserveNode(node1(cordoned, heardFrom)) }, nil},
		"one without members is cordoned": {nil, func(c *Candidates) {
			c.ObserveNode(node1(cordoned, func(n *corev1.Node) { n.Name = "n3" }))
		}, nil},
		"the last member left before": {nil, func(c *Candidates) {
			for n := range 4 {
				c.Forget(member(n, "n1").UID)
			}
			c.ObserveNode(node1(cordoned))
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			c.ObserveNode(node1(tc.before...))
			c.Observe(member(0, "n1", ofPool("a")))
			c.Observe(member(1, "n1", ofPool("a")))
			c.Observe(member(2, "n1", ofPool("a"), tolerant))
			c.Observe(member(3, "n1", ofPool("b"), tolerant))
			c.Observe(member(4, "n2", ofPool("c")))
			var woken []string
			c.OnNodes(func(pools []types.NamespacedName) {
				for _, pool := range pools {
					// Who is woken may ask at once.
					woken = append(woken, pool.Name)
					c.Admits("n1", nil)
				}
			})
			tc.then(c)
			slices.Sort(woken)
			if diff := cmp.Diff(tc.want, woken); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichNodesAdmit(t *testing.T) {
	cases := map[string]struct {
		node                 []func(*corev1.Node)
		admits, admitsAnyhow bool
	}{
		"a good one":               {nil, true, true},
		"one that is cordoned":     {[]func(*corev1.Node){cordoned}, false, false},
		"one that is lost":         {[]func(*corev1.Node){lost}, false, false},
		"one that drives Pods out": {[]func(*corev1.Node){draining}, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			c.ObserveNode(node1(tc.node...))
			var m Member
			tolerant(&m)
			if without, with := c.Admits("n1", nil), c.Admits("n1", m.Tolerations); without != tc.admits || with != tc.admitsAnyhow {
				t.Errorf("admits %v, with a toleration %v", without, with)
			}
			if !c.Admits("n2", nil) || !c.Admits("", nil) {
				t.Error("a node that nobody told of, or none yet, is not admitted")
			}
		})
	}
}

// A3.26: a node that is gone is forgotten with its last member, closed before or not.
func TestNothingIsKeptOfANodeThatIsGone(t *testing.T) {
	c := New()
	c.ObserveNode(node1(cordoned))
	c.Observe(member(1, "n1"))
	c.ForgetNode("n1")
	c.Forget(member(1, "n1").UID)
	if len(c.nodes)+len(c.onNode) != 0 {
		t.Errorf("kept nodes %v, members of %d", c.nodes, len(c.onNode))
	}
}
