package warmpool

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
)

// listed is a cache that tells whether it was asked for copies.
type listed struct {
	client.Reader
	pools     []extensionsv1beta1.SandboxWarmPool
	sandboxes []sandboxv1beta1.Sandbox
	copies    int
	err       error
}

func (l *listed) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var list client.ListOptions
	list.ApplyOptions(options)
	if !ptr.Deref(list.UnsafeDisableDeepCopy, false) {
		l.copies++
	}
	switch into := into.(type) {
	case *extensionsv1beta1.SandboxWarmPoolList:
		into.Items = l.pools
	case *sandboxv1beta1.SandboxList:
		into.Items = l.sandboxes
	}
	return l.err
}

// gauges are those above zero, and how many there are in all.
func gauges(t *testing.T, reader client.Reader, members Members) (map[string]float64, int) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewInventory(reader, members))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	above, all := map[string]float64{}, 0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			all++
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				key += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
			}
			if value := metric.GetGauge().GetValue(); value != 0 {
				above[key] = value
			}
		}
	}
	return above, all
}

// A8.5: a scrape copies nothing. What there is to tell is bounded by the pools, whatever Sandboxes say of themselves.
func TestMembersAreCountedByPoolAndStatus(t *testing.T) {
	ended := func(reason string) func(*sandboxv1beta1.Sandbox) {
		return func(s *sandboxv1beta1.Sandbox) {
			s.Status.Conditions, s.Status.PodIPs = nil, nil
			conditionOf(s, sandboxv1beta1.ConditionFinished, metav1.ConditionTrue, reason)
		}
	}
	owner := func(change func(*metav1.OwnerReference)) func(*sandboxv1beta1.Sandbox) {
		return func(s *sandboxv1beta1.Sandbox) { change(&s.OwnerReferences[0]) }
	}
	var boxes []sandboxv1beta1.Sandbox
	for n, change := range []func(*sandboxv1beta1.Sandbox){
		func(*sandboxv1beta1.Sandbox) {}, owner(func(ref *metav1.OwnerReference) { ref.APIVersion = "extensions.agents.x-k8s.io/v1alpha1" }),
		unreadyFor(0), unreadyFor(0), unreadyFor(0),
		ended(sandboxv1beta1.ReasonPodSucceeded), ended(sandboxv1beta1.ReasonPodFailed), leaving,
		owner(func(ref *metav1.OwnerReference) { ref.UID = "forged" }), owner(func(ref *metav1.OwnerReference) { ref.Kind = "SandboxClaim" }),
		func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil },
		func(s *sandboxv1beta1.Sandbox) { s.Status.NodeName = "cordoned" },
	} {
		boxes = append(boxes, *member(n, change))
	}
	members := candidates.New()
	members.ObserveNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cordoned"}, Spec: corev1.NodeSpec{Unschedulable: true}})
	reader := &listed{sandboxes: boxes, pools: []extensionsv1beta1.SandboxWarmPool{
		*poolOf(5), *poolOf(0, func(p *extensionsv1beta1.SandboxWarmPool) { p.Name, p.UID = "empty", "uid-empty" }),
	}}
	got, all := gauges(t, reader, members)
	const of = "agent_sandbox_warmpool_size namespace=ns sandbox_status="
	const in = " sandbox_template=agent warmpool_name=pool"
	want := map[string]float64{of + "ready" + in: 2, of + "pending" + in: 4, of + "succeeded" + in: 1, of + "failed" + in: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gauges (-want +got):\n%s", diff)
	}
	if all != 8 || reader.copies != 0 {
		t.Errorf("%d gauges of two pools, %d lists that copy", all, reader.copies)
	}
}

func TestAScrapeThatCannotReadSaysSo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewInventory(&listed{err: errors.New("no cache")}, candidates.New()))
	if _, err := registry.Gather(); err == nil {
		t.Error("the scrape says nothing")
	}
}
