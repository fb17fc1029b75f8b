package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// ledger is what the checks remember.
type ledger struct {
	// published is the Sandbox that a claim has published, by the claim's UID.
	published map[types.UID]types.UID
	// astray are the processes of the extensions that led beside another, or of which a write lands late: what each makes the next
	// leader may not see in time, so that a pool may be too large by a batch of each.
	astray map[*process]bool
}

// strays notes processes whose writes another may not see in time.
func (l *ledger) strays(who ...*process) {
	for _, p := range who {
		if p.role == extensions {
			l.astray[p] = true
		}
	}
}

// check looks at one change. The process is nil where it was a user's, or the cluster's own.
func (w *world) check(who *process, k kind, c change) {
	switch k {
	case sandboxKind:
		before, _ := c.before.(*sandboxv1beta1.Sandbox)
		after, _ := c.after.(*sandboxv1beta1.Sandbox)
		w.checkDeletion(who, before, after)
		if after != nil && who != nil {
			w.checkOwners(before, after)
		}
		if after != nil && before == nil {
			w.checkPopulation(after)
		}
	case claimKind:
		before, _ := c.before.(*extensionsv1beta1.SandboxClaim)
		after, _ := c.after.(*extensionsv1beta1.SandboxClaim)
		if before != nil && after != nil {
			w.checkPublished(before, after)
		}
		if before != nil && who != nil && goes(before, after) && !isExpired(before) {
			w.fail("%s deletes claim %q, which has not expired", w.current, before.Name)
		}
	}
}

// goes says whether a change is that somebody deletes the object.
func goes[T interface {
	comparable
	client.Object
}](before, after T) bool {
	var none T
	return before != none && before.GetDeletionTimestamp() == nil && (after == none || after.GetDeletionTimestamp() != nil)
}

// checkDeletion : what was published is not deleted by us before its claim expires or goes.
func (w *world) checkDeletion(who *process, before, after *sandboxv1beta1.Sandbox) {
	if who == nil || !goes(before, after) {
		return
	}
	ref := ownerOf(before, extensionsv1beta1.SandboxClaimKind)
	if ref == nil {
		return
	}
	claim, _ := w.store.objects[claimKind][ref.Name].(*extensionsv1beta1.SandboxClaim)
	if claim != nil && claim.UID == ref.UID && claim.DeletionTimestamp == nil && w.ledger.published[claim.UID] == before.UID {
		w.fail("%s deletes Sandbox %q, which claim %q has published", w.current, before.Name, claim.Name)
	}
}

// checkOwners : a Sandbox never has two claims, is taken from a pool only, while it stays, and keeps its other owners.
func (w *world) checkOwners(before, after *sandboxv1beta1.Sandbox) {
	claims := 0
	for _, ref := range after.OwnerReferences {
		if ref.Kind == extensionsv1beta1.SandboxClaimKind {
			claims++
		}
	}
	if claims > 1 {
		w.fail("%s: Sandbox %q has %d claims", w.current, after.Name, claims)
	}
	is := metav1.GetControllerOfNoCopy(after)
	if before == nil {
		if is != nil && is.Kind == extensionsv1beta1.SandboxClaimKind {
			w.tally.ColdStarts++
		}
		return
	}
	for _, ref := range before.OwnerReferences {
		if (ref.Controller == nil || !*ref.Controller) && !slices.ContainsFunc(after.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
			w.fail("%s: Sandbox %q loses its owner %s %q", w.current, after.Name, ref.Kind, ref.Name)
		}
	}
	was := metav1.GetControllerOfNoCopy(before)
	switch {
	case was != nil && is != nil && was.UID == is.UID, was == nil && is == nil:
		return
	case was == nil || is == nil || was.Kind != extensionsv1beta1.SandboxWarmPoolKind:
		w.fail("%s: Sandbox %q changes hands from %+v to %+v", w.current, after.Name, was, is)
	case before.DeletionTimestamp != nil:
		w.fail("%s: Sandbox %q is taken on its way out", w.current, after.Name)
	}
	w.tally.Adoptions++
}

// checkPopulation : a pool is never larger than its leader has seen it ask for; where others were astray, than any may have seen, by
// one batch of each.
func (w *world) checkPopulation(made *sandboxv1beta1.Sandbox) {
	ref := ownerOf(made, extensionsv1beta1.SandboxWarmPoolKind)
	if ref == nil || w.current == nil || w.current.of == nil {
		return
	}
	population := 0
	for _, obj := range w.store.objects[sandboxKind] {
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil && owner.UID == ref.UID {
			population++
		}
	}
	most := w.mostReplicas(w.current.of.replicas, w.current.of.poolsSeen)
	if astray := len(w.ledger.astray); astray > 0 {
		// Each may have filled the pool to any size that it was ever to have.
		most = w.mostReplicas(0, 0) + astray*w.settings.Batch
	}
	if population > most {
		w.fail("%s: the pool has %d members, more than %d", w.current, population, most)
	}
}

// mostReplicas is the largest size that the pool was to have, from a place in its log on, and not less than least.
func (w *world) mostReplicas(least, from int) int {
	for _, c := range w.store.logs[poolKind][from:] {
		if pool, ok := c.after.(*extensionsv1beta1.SandboxWarmPool); ok {
			least = max(least, int(*pool.Spec.Replicas))
		}
	}
	return least
}

func isExpired(claim *extensionsv1beta1.SandboxClaim) bool {
	ready := meta.FindStatusCondition(claim.Status.Conditions, extensionsv1beta1.ConditionReady)
	return ready != nil && ready.Reason == extensionsv1beta1.ReasonClaimExpired
}

// checkPublished : the name never changes while its Sandbox exists, and is that of a Sandbox of the claim which stays, from the pool
// that the claim names at that moment (A3.4).
func (w *world) checkPublished(before, after *extensionsv1beta1.SandboxClaim) {
	was, is := before.Status.Sandbox.Name, after.Status.Sandbox.Name
	if before.Annotations[extensionsv1beta1.AnnotationDiscarding] != after.Annotations[extensionsv1beta1.AnnotationDiscarding] {
		w.tally.Discards++
	}
	if was == is {
		return
	}
	published := w.ledger.published[after.UID]
	delete(w.ledger.published, after.UID)
	if old := w.sandboxOf(was); was != "" && !isExpired(after) && old != nil && old.UID == published {
		w.fail("%s: claim %q changes its Sandbox from %q, which exists, to %q", w.current, after.Name, was, is)
	}
	sandbox := w.sandboxOf(is)
	if is == "" || sandbox == nil {
		return
	}
	w.ledger.published[after.UID] = sandbox.UID
	if ref := ownerOf(sandbox, extensionsv1beta1.SandboxClaimKind); ref == nil || ref.UID != after.UID {
		w.fail("%s: claim %q publishes Sandbox %q, which is not its own", w.current, after.Name, is)
	}
	if pool := sandbox.Annotations[extensionsv1beta1.AnnotationWarmPoolRef]; pool != after.Spec.WarmPoolRef.Name {
		w.fail("%s: claim %q of %s publishes Sandbox %q of %s", w.current, after.Name, after.Spec.WarmPoolRef.Name, is, pool)
	}
	if sandbox.UID == types.UID(before.Annotations[extensionsv1beta1.AnnotationDiscarding]) {
		w.fail("%s: claim %q publishes Sandbox %q, which it has said it will delete", w.current, after.Name, is)
	}
	if w.current != nil && w.current.of != nil && w.current.of.terminating[is] == sandbox.UID {
		w.fail("%s: claim %q publishes Sandbox %q, which it has seen on its way out", w.current, after.Name, is)
	}
}

// noteWon remembers what a process was told it has taken.
func (w *world) noteWon(c *call) {
	if sandbox, ok := c.result.(*sandboxv1beta1.Sandbox); ok && c.verb == patchVerb && !c.patch.status &&
		c.by.role == extensions && ownerOf(sandbox, extensionsv1beta1.SandboxClaimKind) != nil {
		c.by.won[sandbox.UID] = c.by.picked[sandbox.UID]
	}
}

// checkRest : every claim is served, the pool has its size, and nothing is left over.
func (w *world) checkRest() {
	owned := map[types.UID]*sandboxv1beta1.Sandbox{}
	members := 0
	pool := w.store.objects[poolKind][poolName].(*extensionsv1beta1.SandboxWarmPool)
	for _, name := range w.store.names(sandboxKind) {
		sandbox := w.sandboxOf(name)
		ref := metav1.GetControllerOfNoCopy(sandbox)
		switch {
		case sandbox.DeletionTimestamp != nil:
			w.fail("at rest: Sandbox %q is still on its way out", name)
		case ref == nil:
			// It is its other owner's: that of a claim that is gone.
			if len(sandbox.OwnerReferences) == 0 {
				w.fail("at rest: Sandbox %q is nobody's", name)
			}
		case ref.UID == pool.UID:
			members++
		case owned[ref.UID] != nil:
			w.fail("at rest: claim %q has Sandboxes %q and %q", ref.Name, owned[ref.UID].Name, name)
		default:
			owned[ref.UID] = sandbox
		}
		w.checkPod(sandbox)
	}
	if wanted := int(*pool.Spec.Replicas); members != wanted {
		w.fail("at rest: the pool has %d members, not %d", members, wanted)
	}
	if got := int(pool.Status.Replicas); got != members {
		w.fail("at rest: the pool says that it has %d members, not %d", got, members)
	}
	for _, name := range w.store.names(claimKind) {
		claim := w.store.objects[claimKind][name].(*extensionsv1beta1.SandboxClaim)
		w.checkServed(claim, owned[claim.UID])
		delete(owned, claim.UID)
	}
	for _, sandbox := range owned {
		w.fail("at rest: Sandbox %q is that of a claim which is gone", sandbox.Name)
	}
	if pods, sandboxes := len(w.store.objects[podKind]), len(w.store.objects[sandboxKind]); pods != sandboxes {
		w.fail("at rest: there are %d Pods of %d Sandboxes", pods, sandboxes)
	}
}

// checkServed : a claim has published its Sandbox, which is Ready, or has expired and has none.
func (w *world) checkServed(claim *extensionsv1beta1.SandboxClaim, sandbox *sandboxv1beta1.Sandbox) {
	if lifecycle := claim.Spec.Lifecycle; lifecycle != nil && lifecycle.ShutdownTime != nil && !w.store.now.Before(lifecycle.ShutdownTime.Time) {
		switch {
		case sandbox != nil || claim.Status.Sandbox.Name != "" || !isExpired(claim):
			w.fail("at rest: claim %q has expired and has not let go: %+v", claim.Name, claim.Status)
		case lifecycle.ShutdownPolicy != extensionsv1beta1.ShutdownPolicyRetain:
			w.fail("at rest: claim %q has expired and is still there", claim.Name)
		}
		return
	}
	switch {
	case claim.DeletionTimestamp != nil:
		w.fail("at rest: claim %q is still on its way out", claim.Name)
	case sandbox == nil || claim.Status.Sandbox.Name != sandbox.Name:
		w.fail("at rest: claim %q has no Sandbox: %+v", claim.Name, claim.Status)
	case !meta.IsStatusConditionTrue(claim.Status.Conditions, extensionsv1beta1.ConditionReady):
		w.fail("at rest: claim %q is not Ready: %+v", claim.Name, claim.Status)
	}
}

// checkPod : a Sandbox has its Pod.
func (w *world) checkPod(sandbox *sandboxv1beta1.Sandbox) {
	pod, _ := w.store.objects[podKind][sandbox.Name].(*corev1.Pod)
	if pod == nil || !metav1.IsControlledBy(pod, sandbox) || !podReady(pod) {
		w.fail("at rest: Sandbox %q has no Pod that is Ready", sandbox.Name)
	}
}
