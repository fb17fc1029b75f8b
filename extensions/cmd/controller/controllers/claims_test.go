package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// The write budget: commit, publish, and the annotations of the claim; and for the member that takes its place one create. A
// status of the pool is due once a second at most.
func TestWhatAWarmClaimCosts(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.ClaimEvents = false
	w.startControllers(settings)
	w.template("agent")
	pool := w.pool("pool", 20)
	w.filled(pool)
	w.writes.Reset()
	const claims = 10
	for i := range claims {
		w.bound(w.claim(fmt.Sprintf("claim-%d", i)))
	}
	// The status of the pool may yet be that of before.
	testkit.Eventually(t, "every member that was taken is made up for", func() error {
		if members := w.sandboxes(client.MatchingLabels{sandboxv1beta1.LabelWarmPool: names.Hash(pool.Name)}); len(members) != 20 {
			return fmt.Errorf("%d members", len(members))
		}
		return nil
	})
	counts := w.writes.Counts()
	if statuses := counts["PATCH sandboxwarmpools/status"]; statuses > 5 {
		t.Errorf("%d statuses of the pool", statuses)
	}
	delete(counts, "PATCH sandboxwarmpools/status")
	want := map[string]int{
		"PATCH sandboxes": claims, "PATCH sandboxclaims": claims, "PATCH sandboxclaims/status": claims, "POST sandboxes": claims,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("writes for %d claims (-want +got):\n%s", claims, diff)
	}
}

func TestAClaimTakesAMember(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 1)
	w.filled(pool)
	member := w.sandboxes(nil)[0]
	claim := w.claim("claim", func(c *extensionsv1beta1.SandboxClaim) {
		c.Labels = map[string]string{sandboxv1beta1.LabelCreatedBy: sandboxv1beta1.CreatedByPythonClient}
	})
	box := w.bound(claim)
	if box.UID != member.UID || !metav1.IsControlledBy(box, claim) || len(box.OwnerReferences) != 1 {
		t.Errorf("Sandbox %s with owners %s", box.Name, asJSON(box.OwnerReferences))
	}
	want := map[string]string{}
	for _, key := range []string{sandboxv1beta1.LabelTemplateRef, sandboxv1beta1.LabelTemplateRefHash} {
		want[key] = member.Labels[key]
	}
	want[sandboxv1beta1.LabelClaimUID] = string(claim.UID)
	want[sandboxv1beta1.LabelLaunchType] = sandboxv1beta1.LaunchTypeWarm
	want[sandboxv1beta1.LabelCreatedBy] = sandboxv1beta1.CreatedByPythonClient
	if diff := cmp.Diff(want, box.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if _, evictable := box.Annotations[sandboxv1beta1.AnnotationSafeToEvict]; evictable || member.Annotations[sandboxv1beta1.AnnotationSafeToEvict] != "true" {
		t.Errorf("annotations %v, before %v: only a member that waits may be evicted", box.Annotations, member.Annotations)
	}
	if box.Generation != member.Generation || box.Annotations[sandboxv1beta1.AnnotationPodName] != box.Name {
		t.Errorf("generation %d, annotations %v", box.Generation, box.Annotations)
	}
	if diff := cmp.Diff(box.Status.PodIPs, claim.Status.Sandbox.PodIPs); diff != "" {
		t.Errorf("IPs (-want +got):\n%s", diff)
	}
	first, err := time.Parse(time.RFC3339Nano, claim.Annotations[extensionsv1beta1.AnnotationFirstObservedAt])
	if err != nil || first.Before(claim.CreationTimestamp.Time) || claim.Annotations[extensionsv1beta1.AnnotationSandboxName] != box.Name {
		t.Errorf("annotations %v", claim.Annotations)
	}
	w.filled(pool)
}

// A3.27: the claim says why it was not given a member of its pool, for as long as it has the Sandbox.
func TestAClaimThatStartsColdSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent", func(s *extensionsv1beta1.SandboxTemplate) {
		s.Spec.EnvVarsInjectionPolicy = extensionsv1beta1.EnvVarsAllowed
		s.Spec.VolumeClaimTemplatesPolicy = extensionsv1beta1.VolumeClaimTemplatesAllowed
	})
	w.filled(w.pool("pool", 1))
	w.pool("none", 0)
	w.template("slow", func(s *extensionsv1beta1.SandboxTemplate) {
		s.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: ""}
	})
	w.pool("unready", 1, func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.SandboxTemplateRef.Name = "slow" })
	cases := map[string]struct {
		pool   string
		ask    func(*extensionsv1beta1.SandboxClaimSpec)
		reason string
	}{
		"warm": {"pool", func(*extensionsv1beta1.SandboxClaimSpec) {}, ""},
		"env": {"pool", func(s *extensionsv1beta1.SandboxClaimSpec) {
			s.Env = []extensionsv1beta1.EnvVar{{Name: "KEY", Value: "value"}}
		}, extensionsv1beta1.ReasonEnvRequested},
		"disks": {"pool", func(s *extensionsv1beta1.SandboxClaimSpec) {
			s.VolumeClaimTemplates = make([]sandboxv1beta1.PersistentVolumeClaimTemplate, 1)
			s.VolumeClaimTemplates[0].Metadata.Name = "data"
		}, extensionsv1beta1.ReasonVolumesRequested},
		"none":  {"none", func(*extensionsv1beta1.SandboxClaimSpec) {}, extensionsv1beta1.ReasonWarmPoolSizeZero},
		"empty": {"unready", func(*extensionsv1beta1.SandboxClaimSpec) {}, extensionsv1beta1.ReasonWarmPoolEmpty},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim := w.claim(name, func(c *extensionsv1beta1.SandboxClaim) {
				c.Spec.WarmPoolRef.Name = tc.pool
				tc.ask(&c.Spec)
			})
			if tc.reason != extensionsv1beta1.ReasonWarmPoolEmpty {
				w.bound(claim)
			}
			w.checkColdStart(t, claim, tc.reason)
		})
	}
	testkit.Eventually(t, "each of two templates has its NetworkPolicy, and no claim has one (A2.3)", func() error {
		if made := w.writes.Counts()["POST networkpolicies"]; made != 2 {
			return fmt.Errorf("%d were made", made)
		}
		return nil
	})
}

// checkColdStart waits until a claim has its Sandbox, and wants it to give that reason for a cold start; none: it is warm.
func (w world) checkColdStart(t *testing.T, claim *extensionsv1beta1.SandboxClaim, reason string) {
	t.Helper()
	testkit.Eventually(t, "claim "+claim.Name+" has its Sandbox", func() error {
		if w.get(claim); claim.Status.Sandbox.Name == "" {
			return fmt.Errorf("status %s", asJSON(claim.Status))
		}
		return nil
	})
	told := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionColdStart)
	launch := w.sandbox(claim.Status.Sandbox.Name).Labels[sandboxv1beta1.LabelLaunchType]
	switch {
	case reason == "" && (told != nil || launch != sandboxv1beta1.LaunchTypeWarm):
		t.Errorf("a %s Sandbox, status %s", launch, asJSON(claim.Status))
	case reason != "" && (told == nil || told.Reason != reason || launch != sandboxv1beta1.LaunchTypeCold || claim.Status.Sandbox.Name != claim.Name):
		t.Errorf("a %s Sandbox, status %s", launch, asJSON(claim.Status))
	}
}

// A2.12: what is missing wakes the claim when it comes.
func TestAClaimWaitsForPoolAndTemplate(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	claim := w.claim("claim")
	w.waitReady(claim, metav1.ConditionFalse, extensionsv1beta1.ReasonWarmPoolNotFound)
	w.pool("pool", 0)
	w.waitReady(claim, metav1.ConditionFalse, extensionsv1beta1.ReasonTemplateNotFound)
	w.template("agent")
	w.bound(claim)
}

// A3.5: labels and a forged owner make nobody a member.
func TestASandboxOfAStrangerIsNeverTaken(t *testing.T) {
	w := newWorld(t)
	w.template("agent")
	pool := w.pool("pool", 0)
	labels := map[string]string{sandboxv1beta1.LabelWarmPool: "forged", sandboxv1beta1.LabelLaunchType: sandboxv1beta1.LaunchTypeWarm}
	poisoned := func(name string, owners ...metav1.OwnerReference) {
		box := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners}}
		box.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "evil:1"}}
		w.create(box)
	}
	poisoned("unowned")
	forged := *metav1.NewControllerRef(pool, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
	forged.UID = types.UID("another-pool")
	poisoned("forged", forged)
	w.startControllers(testSettings())
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 1 })
	w.filled(pool)
	for i := range 3 {
		if box := w.bound(w.claim(fmt.Sprintf("claim-%d", i))); box.Name == "unowned" || box.Name == "forged" {
			t.Errorf("claim %d took %s", i, box.Name)
		}
	}
}

// A name that somebody else has is not taken over.
func TestAColdSandboxOfAnothersNameIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	w.pool("pool", 0)
	box := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	box.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	w.create(box)
	claim := w.claim("claim")
	w.waitReady(claim, metav1.ConditionFalse, extensionsv1beta1.ReasonAdoptionConflict)
	w.must("deleting the Sandbox in the way", w.user.Delete(context.Background(), box))
	if got := w.bound(claim); got.UID == box.UID {
		t.Error("the claim took the Sandbox of somebody else")
	}
}

func TestASandboxDeletedBySomebodyIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 2)
	w.filled(pool)
	claim := w.claim("claim")
	first := w.bound(claim)
	w.must("deleting the Sandbox", w.user.Delete(context.Background(), first))
	testkit.Eventually(t, "the claim has another Sandbox", func() error {
		w.get(claim)
		if claim.Status.Sandbox.Name == first.Name || claim.Status.Sandbox.Name == "" {
			return fmt.Errorf("status %s", asJSON(claim.Status))
		}
		return nil
	})
	w.bound(claim)
}

// A3.6, A3.24, A3.25: expiry is told, takes the Sandbox, and can be taken back.
func TestExpiryAndRevival(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 1)
	w.filled(pool)
	claim := w.claim("claim")
	box := w.bound(claim)
	edit(w, claim, func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: &metav1.Time{Time: time.Now().Add(-time.Second)}}
	})
	w.waitReady(claim, metav1.ConditionFalse, extensionsv1beta1.ReasonClaimExpired)
	if claim.Status.Sandbox.Name != "" {
		t.Errorf("status %s", asJSON(claim.Status))
	}
	testkit.Eventually(t, "the Sandbox is gone", func() error {
		if err := w.user.Get(context.Background(), client.ObjectKeyFromObject(box), box); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	edit(w, claim, func(c *extensionsv1beta1.SandboxClaim) { c.Spec.Lifecycle.ShutdownTime = nil })
	w.bound(claim)
}

func TestAnExpiredClaimIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	w.pool("pool", 0)
	claim := w.claim("claim", func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{
			ShutdownTime: &metav1.Time{Time: time.Now().Add(-time.Second)}, ShutdownPolicy: extensionsv1beta1.ShutdownPolicyDelete,
		}
	})
	testkit.Eventually(t, "the claim is gone", func() error {
		if err := w.user.Get(context.Background(), client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// A3.25: what is left of a claim's time after its end counts from the end, as the claim has told it.
func TestAFinishedClaimExpiresAfterItsTTL(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	w.pool("pool", 0)
	lasting := func(ttl int32, policy extensionsv1beta1.ShutdownPolicy) func(*extensionsv1beta1.SandboxClaim) {
		return func(c *extensionsv1beta1.SandboxClaim) {
			c.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{TTLSecondsAfterFinished: &ttl, ShutdownPolicy: policy}
		}
	}
	kept := w.claim("kept", lasting(0, extensionsv1beta1.ShutdownPolicyRetain))
	gone := w.claim("gone", lasting(1, extensionsv1beta1.ShutdownPolicyDelete))
	for _, claim := range []*extensionsv1beta1.SandboxClaim{kept, gone} {
		box := w.bound(claim)
		w.tell(box, metav1.Condition{
			Type: sandboxv1beta1.ConditionFinished, Status: metav1.ConditionTrue, Reason: sandboxv1beta1.ReasonPodSucceeded, Message: "Pod completed successfully",
		})
	}
	w.waitReady(kept, metav1.ConditionFalse, extensionsv1beta1.ReasonClaimExpired)
	testkit.Eventually(t, "the claim is gone", func() error {
		if err := w.user.Get(context.Background(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// A3.1, A3.2: two processes that both take themselves for the leader never give a Sandbox to two claims.
func TestTwoLeadersShareNoSandbox(t *testing.T) {
	w := newWorld(t)
	w.template("agent")
	pool := w.pool("pool", 30)
	w.startControllers(testSettings())
	w.filled(pool)
	w.startControllers(testSettings())
	const claims = 60
	var all []*extensionsv1beta1.SandboxClaim
	for i := range claims {
		all = append(all, w.claim(fmt.Sprintf("claim-%d", i)))
	}
	owner := map[string]string{}
	for _, claim := range all {
		box := w.bound(claim)
		if other, taken := owner[box.Name]; taken {
			t.Errorf("%s has the Sandbox of %s", claim.Name, other)
		}
		owner[box.Name] = claim.Name
		if !metav1.IsControlledBy(box, claim) {
			t.Errorf("%s has published %s, which is not its own", claim.Name, box.Name)
		}
	}
	testkit.Eventually(t, "no claim has a second Sandbox", func() error {
		owned := 0
		for _, box := range w.sandboxes(nil) {
			if ref := metav1.GetControllerOf(&box); ref != nil && ref.Kind == extensionsv1beta1.SandboxClaimKind && box.DeletionTimestamp == nil {
				owned++
			}
		}
		if owned != claims {
			return fmt.Errorf("%d claims have %d Sandboxes", claims, owned)
		}
		return nil
	})
}
