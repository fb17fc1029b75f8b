package warmpool

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
)

var testNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

var testLimits = Limits{Batch: 10, Grace: 5 * time.Minute, Recheck: time.Minute}

func poolOf(replicas int32, modify ...func(*extensionsv1beta1.SandboxWarmPool)) *extensionsv1beta1.SandboxWarmPool {
	pool := &extensionsv1beta1.SandboxWarmPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pool", UID: "uid-pool", Generation: 2},
		Spec: extensionsv1beta1.SandboxWarmPoolSpec{
			Replicas: ptr.To(replicas), SandboxTemplateRef: extensionsv1beta1.SandboxTemplateRef{Name: "agent"},
		},
	}
	for _, change := range modify {
		change(pool)
	}
	return pool
}

func testTemplate() *extensionsv1beta1.SandboxTemplate {
	t := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}}
	t.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	return t
}

// testHash is that of testTemplate's blueprint, or why there is none.
func testHash() string {
	hash, err := blueprint.Hash(testTemplate())
	if err != nil {
		return err.Error()
	}
	return hash
}

// seenOf is a pool with members, and a template that built them.
func seenOf(pool *extensionsv1beta1.SandboxWarmPool, modify ...func(*seen)) seen {
	s := seen{now: testNow, pool: pool, template: testTemplate(), templateHash: testHash(), tokens: 1000}
	for _, change := range modify {
		change(&s)
	}
	return s
}

func with(members ...*sandboxv1beta1.Sandbox) func(*seen) {
	return func(s *seen) { s.members = append(s.members, members...) }
}

// member is the n-th, a minute younger than the one before, Ready.
func member(n int, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	box := desiredMember(seenOf(poolOf(1)), fmt.Sprintf("m%d", n))
	box.UID, box.ResourceVersion, box.Generation = types.UID("uid-"+box.Name), "40", 1
	box.CreationTimestamp = metav1.NewTime(testNow.Add(time.Duration(n-60) * time.Minute))
	box.Status.PodIPs = []string{"10.0.0.1"}
	conditionOf(box, sandboxv1beta1.ConditionReady, metav1.ConditionTrue, sandboxv1beta1.ReasonDependenciesReady)
	for _, change := range modify {
		change(box)
	}
	return box
}

func conditionOf(box *sandboxv1beta1.Sandbox, kind string, status metav1.ConditionStatus, reason string) {
	box.Status.Conditions = append(box.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, ObservedGeneration: 1, LastTransitionTime: box.CreationTimestamp,
	})
}

// unreadyFor makes it one that is not Ready and that old.
func unreadyFor(age time.Duration) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.CreationTimestamp = metav1.NewTime(testNow.Add(-age))
		s.Status.PodIPs, s.Status.Conditions = nil, nil
		conditionOf(s, sandboxv1beta1.ConditionReady, metav1.ConditionFalse, sandboxv1beta1.ReasonDependenciesNotReady)
	}
}

// closedFor puts members on a node that was closed so long ago.
func closedFor(age time.Duration, members ...*sandboxv1beta1.Sandbox) func(*seen) {
	return func(s *seen) {
		if s.closed == nil {
			s.closed = map[types.UID]time.Time{}
		}
		for _, m := range members {
			s.closed[m.UID] = testNow.Add(-age)
		}
	}
}

func scheduled(status metav1.ConditionStatus, reason string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { conditionOf(s, sandboxv1beta1.ConditionPodScheduled, status, reason) }
}

func leaving(s *sandboxv1beta1.Sandbox) { s.DeletionTimestamp = &metav1.Time{Time: testNow} }

func stale(s *sandboxv1beta1.Sandbox) {
	s.Labels[extensionsv1beta1.LabelTemplateHash] = "older"
	s.Spec.PodTemplate.Spec.Containers[0].Image = "image:0"
}

// invalidMember refuses a member for what its template is.
func invalidMember() error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Sandbox"}, "pool-1", field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "no")})
}

func refusedPod(s *sandboxv1beta1.Sandbox) { unreadyBy(sandboxv1beta1.ReasonInvalidConfiguration)(s) }

// unreadyBy is a member without a Pod, for that reason.
func unreadyBy(reason string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Status.PodIPs, s.Status.Conditions = nil, nil
		conditionOf(s, sandboxv1beta1.ConditionReady, metav1.ConditionFalse, reason)
	}
}
