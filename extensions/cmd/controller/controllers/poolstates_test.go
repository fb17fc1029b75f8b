package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// members are the Sandboxes that a pool controls.
func (w world) members(pool *extensionsv1beta1.SandboxWarmPool) []sandboxv1beta1.Sandbox {
	w.t.Helper()
	var members []sandboxv1beta1.Sandbox
	for _, box := range w.sandboxes(nil) {
		if metav1.IsControlledBy(&box, pool) {
			members = append(members, box)
		}
	}
	return members
}

// hasMembers is an error unless a pool controls so many.
func (w world) hasMembers(pool *extensionsv1beta1.SandboxWarmPool, count int) error {
	w.t.Helper()
	if members := w.members(pool); len(members) != count {
		return fmt.Errorf("%d members", len(members))
	}
	return nil
}

// progresses waits until a pool says so, or not.
func (w world) progresses(pool *extensionsv1beta1.SandboxWarmPool, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	testkit.Eventually(w.t, fmt.Sprintf("the pool is Progressing=%s", status), func() error {
		w.get(pool)
		told := meta.FindStatusCondition(pool.Status.Conditions, extensionsv1beta1.ConditionProgressing)
		if told == nil || told.Status != status || told.Reason != reason || !strings.Contains(told.Message, message) {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
}

// --sandbox-warm-pool-replenish-delay: neither the first fill nor a larger pool waits, what claims have taken does.
func TestARefillWaits(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.ReplenishDelay = time.Hour
	w.startControllers(settings)
	w.template("agent")
	pool := w.pool("pool", 3)
	w.filled(pool)
	w.bound(w.claim("claim"))
	testkit.Throughout(t, time.Second, "what was taken is not made up for", func() error { return w.hasMembers(pool, 2) })
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 5 })
	testkit.Eventually(t, "the pool has grown by as many as are wanted more", func() error { return w.hasMembers(pool, 4) })
	testkit.Throughout(t, time.Second, "but for what was taken", func() error { return w.hasMembers(pool, 4) })
}

func TestARefillComesWhenItsTimeIsOver(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.ReplenishDelay = 2 * time.Second
	w.startControllers(settings)
	w.template("agent")
	pool := w.pool("pool", 3)
	w.filled(pool)
	asked := time.Now()
	w.bound(w.claim("claim"))
	testkit.Eventually(t, "what was taken is made up for", func() error { return w.hasMembers(pool, 3) })
	if waited := time.Since(asked); waited < settings.ReplenishDelay {
		t.Errorf("the pool was full again after %v", waited)
	}
}

// A4.14: a member that has lost its owner is nobody's, however well it fits: it is reported, not taken in, and not handed out.
func TestAnOrphanIsNeverTakenIn(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 2)
	w.filled(pool)
	orphan := w.members(pool)[0]
	hash := orphan.Labels[extensionsv1beta1.LabelTemplateHash]
	edit(w, &orphan, func(s *sandboxv1beta1.Sandbox) { s.OwnerReferences = nil })
	w.progresses(pool, metav1.ConditionTrue, extensionsv1beta1.ReasonWarmPoolProgressing, fmt.Sprintf("Sandbox %q has its label and no owner", orphan.Name))
	w.filled(pool)
	for i := range 4 {
		if box := w.bound(w.claim(fmt.Sprintf("claim-%d", i))); box.UID == orphan.UID {
			t.Error("a claim took the orphan")
		}
	}
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 0 })
	w.filled(pool)
	left := w.sandbox(orphan.Name)
	if left.UID != orphan.UID || len(left.OwnerReferences) > 0 || left.Labels[extensionsv1beta1.LabelTemplateHash] != hash {
		t.Errorf("the orphan was touched: owners %s, labels %v", asJSON(left.OwnerReferences), left.Labels)
	}
	w.must("deleting the orphan", w.user.Delete(t.Context(), left))
	testkit.Eventually(t, "the pool reports it no more", func() error {
		if w.get(pool); strings.Contains(asJSON(pool.Status), orphan.Name) {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
}

// A4.21: members that never start are no slow rollout; another template is a new beginning.
func TestAPoolThatCannotStartSaysSo(t *testing.T) {
	w := newWorld(t)
	settings := testSettings()
	settings.Grace = time.Second
	w.startControllers(settings)
	hold := func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: "yes"}
	}
	w.template("agent", hold)
	pool := w.pool("pool", 2)
	w.progresses(pool, metav1.ConditionFalse, extensionsv1beta1.ReasonWarmPoolNotProgressing, "Members do not become Ready: ")
	testkit.Throughout(t, 3*time.Second, "it says so while members come and go", func() error {
		w.get(pool)
		if !meta.IsStatusConditionFalse(pool.Status.Conditions, extensionsv1beta1.ConditionProgressing) || pool.Status.UpdatedReadyReplicas != 0 {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
	template := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}}
	edit(w, template, func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = nil
		t.Spec.PodTemplate.Spec.Containers[0].Image = "image:2"
	})
	w.progresses(pool, metav1.ConditionTrue, extensionsv1beta1.ReasonWarmPoolProgressing, "")
	w.filled(pool)
	if pool.Status.UpdatedReadyReplicas != 2 {
		t.Errorf("status %s", asJSON(pool.Status))
	}
}

// A4.21: a pool whose members become Ready and are taken at once comes nearer to nothing, and works all the same.
func TestAPoolWhoseMembersAreTakenAtOnceProgresses(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent", func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{heldAnnotation: "yes"}
	})
	pool := w.pool("pool", 2)
	testkit.Eventually(t, "the pool has its members", func() error { return w.hasMembers(pool, 2) })
	w.progresses(pool, metav1.ConditionTrue, extensionsv1beta1.ReasonWarmPoolProgressing, "")
	before := pool.DeepCopy()
	meta.SetStatusCondition(&pool.Status.Conditions, metav1.Condition{
		Type: extensionsv1beta1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: extensionsv1beta1.ReasonWarmPoolNotProgressing, Message: "as before",
	})
	w.must("telling that the pool is stuck", w.user.Status().Patch(t.Context(), pool, client.MergeFrom(before)))
	w.progresses(pool, metav1.ConditionFalse, extensionsv1beta1.ReasonWarmPoolNotProgressing, "Members do not become Ready: ")
	taken := w.members(pool)[0]
	w.must("making a member ready", w.becomeReady(t.Context(), &taken, "10.0.0.9"))
	edit(w, &taken, func(s *sandboxv1beta1.Sandbox) {
		s.OwnerReferences[0].Kind, s.OwnerReferences[0].Name, s.OwnerReferences[0].UID = extensionsv1beta1.SandboxClaimKind, "claim", "uid-claim"
	})
	w.progresses(pool, metav1.ConditionTrue, extensionsv1beta1.ReasonWarmPoolProgressing, "")
	testkit.Throughout(t, 2*time.Second, "it goes on to say so", func() error {
		if w.get(pool); !meta.IsStatusConditionTrue(pool.Status.Conditions, extensionsv1beta1.ConditionProgressing) || pool.Status.ReadyReplicas != 0 {
			return fmt.Errorf("status %s", asJSON(pool.Status))
		}
		return nil
	})
}

// A3.16: whose a member is, group, kind and UID say: one whose owner reference an older release wrote is a member.
func TestAMemberOfAnOlderVersionIsOne(t *testing.T) {
	w := newWorld(t)
	w.template("agent")
	pool := w.pool("pool", 1)
	owner := *metav1.NewControllerRef(pool, extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxWarmPoolKind))
	owner.APIVersion = extensionsv1beta1.GroupName + "/v1alpha1"
	old := &sandboxv1beta1.Sandbox{ObjectMeta: metav1.ObjectMeta{Name: "old", OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{
		sandboxv1beta1.LabelWarmPool: names.Hash("pool"), sandboxv1beta1.LabelTemplateRefHash: names.Hash("agent"), extensionsv1beta1.LabelPodTemplateHash: "old",
	}}}
	old.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:1"}}
	w.create(old)
	w.startControllers(testSettings())
	w.filled(pool)
	if err := w.hasMembers(pool, 1); err != nil {
		t.Errorf("the pool made another: %v", err)
	}
	claim := w.claim("claim")
	box := w.bound(claim)
	if box.UID != old.UID || len(box.OwnerReferences) != 1 || box.OwnerReferences[0].APIVersion != extensionsv1beta1.GroupVersion.String() {
		t.Errorf("the claim took %s, owners %s", box.Name, asJSON(box.OwnerReferences))
	}
	if _, there := box.Labels[extensionsv1beta1.LabelPodTemplateHash]; there {
		t.Errorf("labels %v", box.Labels)
	}
}

// A3.18: no name is too long, for a pool, a claim or a member.
func TestLongNames(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool(strings.Repeat("p", 56)+"."+strings.Repeat("q", 190), 1)
	w.filled(pool)
	of := func(c *extensionsv1beta1.SandboxClaim) { c.Spec.WarmPoolRef.Name = pool.Name }
	warm := w.claim(strings.Repeat("w", 200), of)
	member := w.bound(warm)
	if !strings.HasPrefix(member.Name, strings.Repeat("p", 56)+"-") || warm.Annotations[extensionsv1beta1.AnnotationSandboxName] != member.Name {
		t.Errorf("Sandbox %s, annotations %v", member.Name, warm.Annotations)
	}
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 0 })
	w.filled(pool)
	testkit.Eventually(t, "no member can be taken", func() error { return w.hasMembers(pool, 0) })
	cold := w.claim(strings.Repeat("c", 253), of)
	if box := w.bound(cold); box.Name != cold.Name || cold.Annotations[extensionsv1beta1.AnnotationSandboxName] != box.Name {
		t.Errorf("Sandbox %s, annotations %v", box.Name, cold.Annotations)
	}
}

// A4.15: an edit of the podTemplate's metadata, what is said about eviction included, makes no member stale.
func TestMetadataOfTheTemplateMakesNoMemberStale(t *testing.T) {
	w := newWorld(t)
	w.startControllers(testSettings())
	w.template("agent")
	pool := w.pool("pool", 2, func(p *extensionsv1beta1.SandboxWarmPool) {
		p.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyRecreate
	})
	w.filled(pool)
	before := w.members(pool)
	template := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}}
	edit(w, template, func(t *extensionsv1beta1.SandboxTemplate) {
		t.Spec.PodTemplate.Metadata.Annotations = map[string]string{sandboxv1beta1.AnnotationSafeToEvict: "false"}
	})
	edit(w, pool, func(p *extensionsv1beta1.SandboxWarmPool) { *p.Spec.Replicas = 3 })
	w.filled(pool)
	if pool.Status.UpdatedReadyReplicas != 3 {
		t.Errorf("status %s", asJSON(pool.Status))
	}
	for _, box := range before {
		if still := w.sandbox(box.Name); still.UID != box.UID || still.Annotations[sandboxv1beta1.AnnotationSafeToEvict] != "true" {
			t.Errorf("member %s: UID %s, annotations %v", box.Name, still.UID, still.Annotations)
		}
	}
	for _, box := range w.members(pool) {
		key := client.ObjectKeyFromObject(&box)
		said := box.Spec.PodTemplate.Metadata.Annotations[sandboxv1beta1.AnnotationSafeToEvict]
		if _, marked := box.Annotations[sandboxv1beta1.AnnotationSafeToEvict]; marked == (said == "false") {
			t.Errorf("member %s: the template says %q, annotations %v", key.Name, said, box.Annotations)
		}
	}
}
