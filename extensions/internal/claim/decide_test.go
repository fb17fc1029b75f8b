package claim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

var unexported = cmp.AllowUnexported(plan{}, taking{}, discard{}, target{}, removal{}, refusal{})

func discardBox(n int, fenced bool) *discard {
	return &discard{target: targetOf(ownSandbox(n)), fenced: fenced}
}

func TestDecideWithASandbox(t *testing.T) {
	one, two, three := ownSandbox(1), ownSandbox(2), ownSandbox(3)
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"a claim that has published its Sandbox keeps it": {seenWith(claimWith(publishing("box-1")), owning(one)), plan{}},
		"one on its way out is kept until it is gone":     {seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1, leaving))), plan{}},
		"another is discarded (A3.1)":                     {seenWith(claimWith(publishing("box-2")), owning(one, two)), plan{discard: discardBox(1, false)}},
		"the one named first goes first": {
			seenWith(claimWith(publishing("box-2"), discarded("uid-box-3")), owning(one, two, three)), plan{discard: discardBox(3, true)},
		},
		"one that goes already is left to go":            {seenWith(claimWith(publishing("box-2")), owning(ownSandbox(1, leaving), two)), plan{}},
		"of several, none published, nothing goes yet":   {seenWith(claimWith(), owning(one, two)), plan{again: true}},
		"a single one is only to be published":           {seenWith(claimWith(), owning(one)), plan{}},
		"what is to be discarded is never published":     {seenWith(claimWith(discarded("uid-box-1")), owning(one)), plan{discard: discardBox(1, true)}},
		"a bound claim no longer needs its pool (A3.15)": {seenWith(claimWith(publishing("box-1")), owning(one), func(s *seen) { s.pool, s.template = nil, nil }), plan{}},
		"one of another pool, which the claim named before, goes (A3.4)": {
			seenWith(claimWith(), owning(ownSandbox(1, ofAnother))), plan{discard: discardBox(1, false)},
		},
		"what was published before that stays": {seenWith(claimWith(publishing("box-1")), owning(ownSandbox(1, ofAnother))), plan{}},
		"it wakes when it expires": {
			seenWith(claimWith(publishing("box-1"), expires(testNow.Add(time.Minute), "")), owning(one)), plan{wake: time.Minute},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen), unexported); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideWithoutASandbox(t *testing.T) {
	take := &taking{pool: "uid-pool", namespace: "ns"}
	cold := coldFor(claimWith())
	young := claimWith(func(c *extensionsv1beta1.SandboxClaim) {
		c.CreationTimestamp = metav1.NewTime(testNow.Add(-time.Second))
	})
	soon := func(s *seen) { s.comesSoon = true }
	withVariable := claimWith(func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "KEY", Value: "value"}}
	})
	withEnv := desiredSandbox(seen{claim: claimWith()}, testTemplate(), extensionsv1beta1.ReasonEnvRequested)
	withEnv.Spec.PodTemplate.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KEY", Value: "value"}}
	ofNone := desiredSandbox(seen{claim: claimWith()}, testTemplate(), extensionsv1beta1.ReasonWarmPoolSizeZero)
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"it takes one, or starts one":              {seenWith(claimWith()), plan{take: take, create: cold}},
		"a pool of none starts one":                {seenWith(claimWith(), func(s *seen) { s.pool.Spec.Replicas = ptr.To[int32](0) }), plan{create: ofNone}},
		"Recreate takes none that is stale (A3.7)": {seenWith(claimWith(), recreate), plan{take: &taking{pool: "uid-pool", namespace: "ns", freshOnly: true}, create: cold}},
		"it waits for one that lacks an IP":        {seenWith(young, soon), plan{take: take, wake: time.Second}},
		"but no longer than two seconds":           {seenWith(claimWith(), soon), plan{take: take, create: cold}},
		"without its pool it gets none": {
			seenWith(claimWith(), func(s *seen) { s.pool = nil }),
			plan{refused: &refusal{extensionsv1beta1.ReasonWarmPoolNotFound, `SandboxWarmPool "pool" not found`}},
		},
		"nor from a pool that goes": {
			seenWith(claimWith(), func(s *seen) { s.pool.DeletionTimestamp = &metav1.Time{Time: testNow} }),
			plan{refused: &refusal{extensionsv1beta1.ReasonWarmPoolNotFound, `SandboxWarmPool "pool" is being deleted`}},
		},
		"nor without the template (A2.12)": {
			seenWith(claimWith(), func(s *seen) { s.template = nil }),
			plan{refused: &refusal{extensionsv1beta1.ReasonTemplateNotFound, `SandboxTemplate "agent" of SandboxWarmPool "pool" not found`}},
		},
		"variables are not for one that runs (A3.27)": {
			seenWith(withVariable, func(s *seen) { s.template.Spec.EnvVarsInjectionPolicy = extensionsv1beta1.EnvVarsAllowed }), plan{create: withEnv},
		},
		"nor for one whose template forbids them": {
			seenWith(withVariable),
			plan{refused: &refusal{extensionsv1beta1.ReasonEnvVarsInjectionRejected,
				`spec.env[0] "KEY": SandboxTemplate "agent" has envVarsInjectionPolicy Disallowed: remove spec.env or have it changed`}},
		},
		"what was published and is gone is replaced": {
			seenWith(claimWith(publishing("box-9")), func(s *seen) { s.replaced = true }), plan{take: take, create: cold},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen), unexported); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func recreate(s *seen) {
	s.pool.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyRecreate
}

func TestDecideAboutExpiry(t *testing.T) {
	past := testNow.Add(-time.Second)
	ttlOf := func(seconds int32) func(*extensionsv1beta1.SandboxClaim) {
		return func(c *extensionsv1beta1.SandboxClaim) {
			c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{TTLSecondsAfterFinished: ptr.To(seconds)}
		}
	}
	ttl := ttlOf(30)
	finished := func(ago time.Duration) func(*extensionsv1beta1.SandboxClaim) {
		return told(metav1.Condition{Type: extensionsv1beta1.ConditionFinished, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(testNow.Add(-ago))})
	}
	claimTarget := targetOf(claimWith())
	cases := map[string]struct {
		seen seen
		want plan
	}{
		"first it is told (A3.25)": {seenWith(claimWith(publishing("box-1"), expires(past, extensionsv1beta1.ShutdownPolicyDelete)), owning(ownSandbox(1))), plan{again: true}},
		"at the very moment too":   {seenWith(claimWith(publishing("box-1"), expires(testNow, "")), owning(ownSandbox(1))), plan{again: true}},
		"then the Sandbox goes (A3.6)": {
			seenWith(claimWith(told(expiredCondition), expires(past, extensionsv1beta1.ShutdownPolicyRetain)), owning(ownSandbox(1))), plan{discard: discardBox(1, false)},
		},
		"all of them, one after the other": {
			seenWith(claimWith(told(expiredCondition), expires(past, "")), owning(ownSandbox(1), ownSandbox(2))), plan{discard: discardBox(1, false), again: true},
		},
		"once they are gone nothing is left to do": {seenWith(claimWith(told(expiredCondition), expires(past, ""))), plan{}},
		"Delete removes the claim": {
			seenWith(claimWith(told(expiredCondition), expires(past, extensionsv1beta1.ShutdownPolicyDelete)), owning(ownSandbox(1))),
			plan{remove: &removal{claimTarget, metav1.DeletePropagationBackground}},
		},
		"DeleteForeground after its dependents (A3.23)": {
			seenWith(claimWith(told(expiredCondition), expires(past, extensionsv1beta1.ShutdownPolicyDeleteForeground)), owning(ownSandbox(1))),
			plan{remove: &removal{claimTarget, metav1.DeletePropagationForeground}},
		},
		"a TTL counts from the end":       {seenWith(claimWith(ttl, finished(30*time.Second), publishing("box-1")), owning(ownSandbox(1))), plan{again: true}},
		"and wakes when it is over":       {seenWith(claimWith(ttl, finished(20*time.Second), publishing("box-1")), owning(ownSandbox(1))), plan{wake: 10 * time.Second}},
		"before the end it has no effect": {seenWith(claimWith(ttl, publishing("box-1")), owning(ownSandbox(1))), plan{}},
		"what ended is not run once more for a longer TTL": {
			seenWith(claimWith(told(expiredCondition), finished(time.Hour), ttlOf(7200))), plan{},
		},
		"nor for none": {seenWith(claimWith(told(expiredCondition), finished(time.Hour))), plan{}},
		"but for a later time (A3.24)": {
			seenWith(claimWith(told(expiredCondition), finished(time.Hour), expires(testNow.Add(time.Hour), ""))),
			plan{take: &taking{pool: "uid-pool", namespace: "ns"}, create: coldFor(claimWith()), wake: time.Hour},
		},
		"what had not ended comes back without a time": {
			seenWith(claimWith(told(expiredCondition))), plan{take: &taking{pool: "uid-pool", namespace: "ns"}, create: coldFor(claimWith())},
		},
		"a later time brings it back (A3.24)": {
			seenWith(claimWith(told(expiredCondition), expires(testNow.Add(time.Hour), ""))),
			plan{take: &taking{pool: "uid-pool", namespace: "ns"}, create: coldFor(claimWith()), wake: time.Hour},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide(tc.seen), unexported); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A2.6
func TestAColdSandboxCarriesWhoseItIs(t *testing.T) {
	claim := claimWith(func(c *extensionsv1beta1.SandboxClaim) {
		c.Labels = map[string]string{sandboxv1beta1.LabelCreatedBy: "somebody's script"}
	})
	box := coldFor(claim)
	want := map[string]string{
		sandboxv1beta1.LabelClaimUID: "uid-claim", sandboxv1beta1.LabelLaunchType: "cold", sandboxv1beta1.LabelCreatedBy: "unknown",
		sandboxv1beta1.LabelTemplateRef: names.Digest(testTemplate().Name), sandboxv1beta1.LabelTemplateRefHash: names.Hash(testTemplate().Name),
	}
	if diff := cmp.Diff(want, box.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if box.Name != "claim" || !metav1.IsControlledBy(box, claim) {
		t.Errorf("name %q, owners %v", box.Name, box.OwnerReferences)
	}
}
