package candidates

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// pooled is a Sandbox of testPool that can be taken.
func pooled(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	box := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "box", UID: "uid-box", ResourceVersion: "10", Generation: 2,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "extensions.agents.x-k8s.io/v1beta1", Kind: "SandboxWarmPool", Name: "pool", UID: testPool, Controller: ptr.To(true),
		}},
	}}
	box.Status.PodIPs = []string{"10.0.0.1"}
	box.Status.Conditions = []metav1.Condition{{
		Type: sandboxv1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonDependenciesReady, ObservedGeneration: 2,
	}}
	for _, change := range modify {
		change(box)
	}
	return box
}

// A3.5, A3.8: whose it is, by its owner alone, and whether it can be used now.
func TestWhichSandboxesCanBeTaken(t *testing.T) {
	scheduled := metav1.Condition{Type: sandboxv1beta1.ConditionPodScheduled, Status: metav1.ConditionTrue}
	starting := func(s *sandboxv1beta1.Sandbox) {
		s.Status.PodIPs = nil
		s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady
	}
	cases := map[string]struct {
		box             *sandboxv1beta1.Sandbox
		taken, expected bool
	}{
		"one of the pool, Ready": {pooled(), true, false},
		"of an older release's version (A3.16)": {pooled(func(s *sandboxv1beta1.Sandbox) {
			s.OwnerReferences[0].APIVersion = "extensions.agents.x-k8s.io/v1alpha1"
		}), true, false},
		"nobody's, with the labels": {pooled(func(s *sandboxv1beta1.Sandbox) {
			s.OwnerReferences, s.Labels = nil, map[string]string{sandboxv1beta1.LabelWarmPool: "hash"}
		}), false, false},
		"of a kind of that name elsewhere": {pooled(func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].APIVersion = "example.com/v1" }), false, false},
		"not controlled by it":             {pooled(func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences[0].Controller = nil }), false, false},
		"on its way out":                   {pooled(func(s *sandboxv1beta1.Sandbox) { s.DeletionTimestamp = &metav1.Time{Time: testStart} }), false, false},
		"without an IP":                    {pooled(func(s *sandboxv1beta1.Sandbox) { s.Status.PodIPs = nil }), false, false},
		"Ready as it once was":             {pooled(func(s *sandboxv1beta1.Sandbox) { s.Generation = 3 }), false, false},
		"not Ready":                        {pooled(starting), false, false},
		"not Ready, but on its node": {pooled(starting, func(s *sandboxv1beta1.Sandbox) {
			s.Status.Conditions = append(s.Status.Conditions, scheduled)
		}), false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			handler := c.SandboxHandler()
			handler.OnAdd(pooled(), true)
			handler.OnUpdate(pooled(), tc.box)
			if taken := c.Count(testPool) == 1; taken != tc.taken || c.Expected(testPool) != tc.expected {
				t.Errorf("can be taken %v, is expected %v", taken, c.Expected(testPool))
			}
			handler.OnDelete(cache.DeletedFinalStateUnknown{Obj: tc.box})
			if c.Len() != 0 || c.Expected(testPool) {
				t.Error("what is gone is known yet")
			}
		})
	}
}
