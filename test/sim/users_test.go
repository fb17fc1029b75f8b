package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const (
	mostClaims  = 6
	mostMembers = 4
	poolName    = "pool"
	// otherPool has no members, ever.
	otherPool = "other"
)

// user lets a user do something.
func (w *world) user() {
	claims := w.store.names(claimKind)
	sandboxes := w.store.names(sandboxKind)
	options := []option{{3, w.scale}, {1, w.editTemplate}}
	if len(claims) < mostClaims {
		options = append(options, option{12, w.createClaim})
	}
	if bound := w.claimsThat(isBound); len(bound) > 0 {
		options = append(options, option{4, func() { w.expireClaim(anyOf(w.rng, bound)) }})
	}
	if mortal := w.claimsThat(isMortal); len(mortal) > 0 {
		options = append(options, option{6, func() { w.reviveClaim(anyOf(w.rng, mortal)) }})
	}
	if letting := w.claimsThat(w.isLettingGo); len(letting) > 0 {
		options = append(options, option{20, func() { w.reviveClaim(anyOf(w.rng, letting)) }})
	}
	if len(claims) > 0 {
		name := anyOf(w.rng, claims)
		options = append(options, option{1, func() { w.expireClaim(name) }}, option{2, func() { w.deleteClaim(name) }}, option{1, func() { w.repointClaim(name) }})
	}
	if len(sandboxes) > 0 {
		name := anyOf(w.rng, sandboxes)
		options = append(options, option{3, func() { w.deleteSandbox(name) }}, option{2, func() { w.addOwner(name) }}, option{1, w.release})
	}
	if taking := w.claimsThat(w.isTaking); len(taking) > 0 {
		options = append(options, option{6, func() { w.repointClaim(anyOf(w.rng, taking)) }})
	}
	if torn := w.claimsThat(w.isTorn); len(torn) > 0 {
		options = append(options, option{12, func() {
			claim := w.store.objects[claimKind][anyOf(w.rng, torn)].(*extensionsv1beta1.SandboxClaim)
			w.deleteSandbox(claim.Status.Sandbox.Name)
		}})
	}
	if pods := w.store.names(podKind); len(pods) > 0 {
		options = append(options, option{1, func() { w.deletePod(anyOf(w.rng, pods)) }})
	}
	w.choose(options)
}

// isTorn says whether a claim has one more Sandbox beside the published one: where that goes, which one it keeps is decided anew.
func (w *world) isTorn(claim *extensionsv1beta1.SandboxClaim) bool {
	staying := w.stayingOf(claim)
	return len(staying) > 1 && slices.Contains(staying, claim.Status.Sandbox.Name)
}

// stayingOf are the names of the Sandboxes that a claim controls and nobody deletes.
func (w *world) stayingOf(claim *extensionsv1beta1.SandboxClaim) []string {
	return slices.DeleteFunc(w.store.names(sandboxKind), func(name string) bool {
		sandbox := w.sandboxOf(name)
		return sandbox.DeletionTimestamp != nil || !metav1.IsControlledBy(sandbox, claim)
	})
}

// claimsThat are the names of those claims.
func (w *world) claimsThat(fit func(*extensionsv1beta1.SandboxClaim) bool) []string {
	return slices.DeleteFunc(w.store.names(claimKind), func(name string) bool {
		return !fit(w.store.objects[claimKind][name].(*extensionsv1beta1.SandboxClaim))
	})
}

func isBound(claim *extensionsv1beta1.SandboxClaim) bool {
	return claim.Status.Sandbox.Name != "" && claim.Spec.Lifecycle == nil
}

// giveAnother gives a claim that has published its Sandbox a member of the pool besides, as two leaders at once can leave it.
func (w *world) giveAnother() {
	bound := w.claimsThat(isBound)
	members := slices.DeleteFunc(w.store.names(sandboxKind), func(name string) bool {
		return ownerOf(w.sandboxOf(name), extensionsv1beta1.SandboxWarmPoolKind) == nil
	})
	if len(bound) == 0 || len(members) == 0 {
		return
	}
	claim := w.store.objects[claimKind][bound[0]].(*extensionsv1beta1.SandboxClaim)
	w.store.edit(sandboxKind, members[0], func(obj client.Object) {
		kind := extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind)
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(claim, kind)})
	})
	w.note("claim %s has Sandbox %s as well", claim.Name, members[0])
}

// isLettingGo says whether a claim has told that it expired while a Sandbox of its own stands yet: a revival finds it at the very
// moment at which it may be on its way out.
func (w *world) isLettingGo(claim *extensionsv1beta1.SandboxClaim) bool {
	return isExpired(claim) && isMortal(claim) && len(w.stayingOf(claim)) > 0
}

// isTaking says whether a claim has a Sandbox that it has not published yet.
func (w *world) isTaking(claim *extensionsv1beta1.SandboxClaim) bool {
	return claim.Status.Sandbox.Name == "" && len(w.stayingOf(claim)) > 0
}

func isMortal(claim *extensionsv1beta1.SandboxClaim) bool { return claim.Spec.Lifecycle != nil }

func (w *world) createClaim() {
	for i := range mostClaims {
		name := fmt.Sprintf("claim-%d", i)
		if w.store.objects[claimKind][name] != nil {
			continue
		}
		claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		claim.Spec.WarmPoolRef.Name = poolName
		_, _ = w.store.create(nil, claim) // there is none of that name
		w.note("user: creates claim %s", name)
		return
	}
}

// expireClaim lets a claim expire now, or in a moment.
func (w *world) expireClaim(name string) {
	at := metav1.NewTime(w.store.now.Add(time.Duration(w.rng.IntN(3)) * time.Second).Truncate(time.Second))
	policy := anyOf(w.rng, []extensionsv1beta1.ShutdownPolicy{
		extensionsv1beta1.ShutdownPolicyRetain, extensionsv1beta1.ShutdownPolicyRetain,
		extensionsv1beta1.ShutdownPolicyDelete, extensionsv1beta1.ShutdownPolicyDeleteForeground,
	})
	w.store.edit(claimKind, name, func(obj client.Object) {
		obj.(*extensionsv1beta1.SandboxClaim).Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: &at, ShutdownPolicy: policy}
	})
	w.note("user: claim %s is to expire at %s, %s", name, at.Format("04:05"), policy)
}

func (w *world) reviveClaim(name string) {
	w.store.edit(claimKind, name, func(obj client.Object) { obj.(*extensionsv1beta1.SandboxClaim).Spec.Lifecycle = nil })
	w.note("user: claim %s is not to expire", name)
}

// repointClaim has a claim name the other of the two pools.
func (w *world) repointClaim(name string) {
	w.store.edit(claimKind, name, func(obj client.Object) {
		ref := &obj.(*extensionsv1beta1.SandboxClaim).Spec.WarmPoolRef
		ref.Name = map[string]string{poolName: otherPool, otherPool: poolName}[ref.Name]
		w.note("user: claim %s is of %s", name, ref.Name)
	})
}

func (w *world) deleteClaim(name string) {
	policy := anyOf(w.rng, []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
	})
	_, _ = w.store.delete(nil, claimKind, name, client.DeleteOptions{PropagationPolicy: &policy}) // it exists
	w.note("user: deletes claim %s, %s", name, policy)
}

// deleteSandbox deletes a Sandbox, half of the time one that somebody holds for a while.
func (w *world) deleteSandbox(name string) {
	hold := w.rng.IntN(2) == 0
	if hold {
		w.store.edit(sandboxKind, name, func(obj client.Object) {
			if obj.GetDeletionTimestamp() == nil && len(obj.GetFinalizers()) == 0 {
				obj.SetFinalizers([]string{holdFinalizer})
			}
		})
	}
	_, _ = w.store.delete(nil, sandboxKind, name, client.DeleteOptions{}) // it exists
	w.note("user: deletes Sandbox %s, held: %v", name, hold)
}

// release lets go of every Sandbox that is held.
func (w *world) release() {
	for _, name := range w.store.names(sandboxKind) {
		w.store.edit(sandboxKind, name, func(obj client.Object) {
			obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == holdFinalizer }))
		})
	}
	w.note("user: holds no Sandbox")
}

// addOwner gives a member one more owner, before or after the first.
func (w *world) addOwner(name string) {
	first := w.rng.IntN(2) == 0
	w.store.edit(sandboxKind, name, func(obj client.Object) {
		refs := obj.GetOwnerReferences()
		if !strings.HasPrefix(name, poolName+"-") || len(refs) != 1 {
			return
		}
		if refs = append(refs, otherOwner()); first {
			slices.Reverse(refs)
		}
		obj.SetOwnerReferences(refs)
	})
	w.note("user: adds an owner to Sandbox %s", name)
}

func (w *world) scale() {
	replicas := int32(w.rng.IntN(mostMembers + 1))
	w.store.edit(poolKind, poolName, func(obj client.Object) { obj.(*extensionsv1beta1.SandboxWarmPool).Spec.Replicas = ptr.To(replicas) })
	w.note("user: scales the pool to %d", replicas)
}

func (w *world) editTemplate() {
	image := fmt.Sprintf("image:%d", w.rng.IntN(1000))
	w.store.edit(templateKind, "template", func(obj client.Object) {
		obj.(*extensionsv1beta1.SandboxTemplate).Spec.PodTemplate.Spec.Containers[0].Image = image
	})
	w.note("user: edits the template")
}

func (w *world) deletePod(name string) {
	_, _ = w.store.delete(nil, podKind, name, client.DeleteOptions{}) // it exists
	w.note("user: deletes Pod %s", name)
}

// sandboxOf is a Sandbox of the store; nil without one.
func (w *world) sandboxOf(name string) *sandboxv1beta1.Sandbox {
	sandbox, _ := w.store.objects[sandboxKind][name].(*sandboxv1beta1.Sandbox)
	return sandbox
}
