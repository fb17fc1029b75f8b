package claim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
)

var testNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func claimWith(modify ...func(*extensionsv1beta1.SandboxClaim)) *extensionsv1beta1.SandboxClaim {
	claim := &extensionsv1beta1.SandboxClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "claim", UID: "uid-claim", ResourceVersion: "30", Generation: 3,
			CreationTimestamp: metav1.NewTime(testNow.Add(-time.Minute)),
		},
		Spec: extensionsv1beta1.SandboxClaimSpec{WarmPoolRef: extensionsv1beta1.SandboxWarmPoolRef{Name: "pool"}},
	}
	for _, change := range modify {
		change(claim)
	}
	return claim
}

func publishing(name string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) { c.Status.Sandbox.Name = name }
}

func discarded(uid string) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Annotations = map[string]string{extensionsv1beta1.AnnotationDiscarding: uid}
	}
}

func expires(at time.Time, policy extensionsv1beta1.ShutdownPolicy) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: &metav1.Time{Time: at}, ShutdownPolicy: policy}
	}
}

func told(condition metav1.Condition) func(*extensionsv1beta1.SandboxClaim) {
	return func(c *extensionsv1beta1.SandboxClaim) { c.Status.Conditions = append(c.Status.Conditions, condition) }
}

var expiredCondition = metav1.Condition{
	Type: extensionsv1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: extensionsv1beta1.ReasonClaimExpired,
}

func testTemplate() *extensionsv1beta1.SandboxTemplate {
	t := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}}
	t.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	return t
}

func testPool(modify ...func(*extensionsv1beta1.SandboxWarmPool)) *extensionsv1beta1.SandboxWarmPool {
	p := &extensionsv1beta1.SandboxWarmPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pool", UID: "uid-pool"},
		Spec: extensionsv1beta1.SandboxWarmPoolSpec{
			Replicas: ptr.To[int32](2), SandboxTemplateRef: extensionsv1beta1.SandboxTemplateRef{Name: "agent"},
		},
	}
	for _, change := range modify {
		change(p)
	}
	return p
}

// ownSandbox is one that claimWith() controls, the n-th in age.
func ownSandbox(n int, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	name := "box-" + string(rune('0'+n))
	box := blueprint.Sandbox(testTemplate(), blueprint.Origin{Name: name, Owner: controllerRef(claimWith())})
	box.UID, box.ResourceVersion = types.UID("uid-"+name), "40"
	box.CreationTimestamp = metav1.NewTime(testNow.Add(time.Duration(n) * time.Second))
	for _, change := range modify {
		change(box)
	}
	return box
}

// coldFor is the Sandbox that a claim starts when its pool has none.
func coldFor(claim *extensionsv1beta1.SandboxClaim) *sandboxv1beta1.Sandbox {
	return desiredSandbox(seen{claim: claim}, testTemplate(), extensionsv1beta1.ReasonWarmPoolEmpty)
}

// ofAnother makes it a Sandbox of a pool that the claim does not name.
func ofAnother(s *sandboxv1beta1.Sandbox) {
	s.Annotations[extensionsv1beta1.AnnotationWarmPoolRef] = "another"
}

// memberSandbox is one that testPool() controls.
func memberSandbox(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	return ownSandbox(1, append([]func(*sandboxv1beta1.Sandbox){func(s *sandboxv1beta1.Sandbox) {
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(testPool(),
			extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))}
		s.Labels[sandboxv1beta1.LabelWarmPool] = "hash"
		s.Labels[sandboxv1beta1.LabelLaunchType] = sandboxv1beta1.LaunchTypeWarm
		s.Labels[sandboxv1beta1.LabelCreatedBy] = sandboxv1beta1.CreatedByController
	}}, modify...)...)
}

func leaving(s *sandboxv1beta1.Sandbox) { s.DeletionTimestamp = &metav1.Time{Time: testNow} }

func readyAs(condition metav1.Condition) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		condition.Type = sandboxv1beta1.ConditionReady
		s.Status.Conditions = append(s.Status.Conditions, condition)
	}
}

// seenWith is a claim without a Sandbox, whose pool and template are there.
func seenWith(claim *extensionsv1beta1.SandboxClaim, modify ...func(*seen)) seen {
	s := seen{now: testNow, claim: claim, pool: testPool(), template: testTemplate(), templateHash: "hash", domains: blueprint.DefaultLabelDomains()}
	for _, change := range modify {
		change(&s)
	}
	return s
}

func owning(sandboxes ...*sandboxv1beta1.Sandbox) func(*seen) {
	return func(s *seen) { s.owned = sandboxes }
}
