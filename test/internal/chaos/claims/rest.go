package claims

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// Case is what is judged in the end.
type Case struct {
	World    World
	Accounts map[string]*Account // by the names of claims
	Pools    map[string]int32    // the sizes that users last asked for, by name
	Now      time.Time
}

// Violations returns all that is not as it should be once users and controllers have come to rest.
func (c Case) Violations() []check.Violation {
	r := &rest{Case: c, owned: map[types.UID][]*sandboxv1beta1.Sandbox{}, sandboxes: map[types.UID]*sandboxv1beta1.Sandbox{},
		claims: map[string]*extensionsv1beta1.SandboxClaim{}, owners: map[types.UID]bool{}, pods: map[types.UID][]*corev1.Pod{}}
	r.gather()
	for _, name := range slices.Sorted(maps.Keys(c.Accounts)) {
		r.judgeAccount(name, c.Accounts[name], r.claims[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.claims)) {
		if c.Accounts[name] == nil {
			r.fail(KindClaim, name, name, "", "nobody made it")
		}
	}
	r.judgePools()
	for i := range c.World.Sandboxes {
		r.judgeSandbox(&c.World.Sandboxes[i])
	}
	for _, child := range c.World.Children() {
		r.judgeChild(child)
	}
	return r.found
}

// Forgotten returns the Sandboxes that the garbage collector of Kubernetes has left.
func (c Case) Forgotten() []*sandboxv1beta1.Sandbox {
	var all []*sandboxv1beta1.Sandbox
	for i := range c.World.Sandboxes {
		if sandbox := &c.World.Sandboxes[i]; c.isForgotten(sandbox) {
			all = append(all, sandbox)
		}
	}
	return all
}

func (c Case) isForgotten(sandbox *sandboxv1beta1.Sandbox) bool {
	owner := ownerOf(sandbox, KindClaim)
	if owner == nil || c.Accounts[owner.Name] == nil {
		return false
	}
	return c.Accounts[owner.Name].Hidden[owner.UID]
}

// isInTheWay says whether a claim waits for the name of a Sandbox that was forgotten.
func (r *rest) isInTheWay(claim *extensionsv1beta1.SandboxClaim) bool {
	return !isReady(claim) && len(r.owned[claim.UID]) == 0 && slices.ContainsFunc(r.Forgotten(), func(s *sandboxv1beta1.Sandbox) bool {
		return s.Name == claim.Name
	})
}

// rest is one judgement under way.
type rest struct {
	Case
	claims    map[string]*extensionsv1beta1.SandboxClaim
	owners    map[types.UID]bool // claims and pools
	sandboxes map[types.UID]*sandboxv1beta1.Sandbox
	owned     map[types.UID][]*sandboxv1beta1.Sandbox // by claim or pool
	pods      map[types.UID][]*corev1.Pod             // by Sandbox
	found     []check.Violation
}

func (r *rest) fail(kind, name, claim, sandbox, format string, args ...any) {
	r.found = append(r.found, check.Violation{Kind: kind, Name: name, Claim: claim, Sandbox: sandbox, Broken: fmt.Sprintf(format, args...)})
}

// gather puts together what belongs together.
func (r *rest) gather() {
	for i := range r.World.Bindings {
		claim := &r.World.Bindings[i]
		r.claims[claim.Name], r.owners[claim.UID] = claim, true
	}
	for i := range r.World.Pools {
		r.owners[r.World.Pools[i].UID] = true
	}
	for i := range r.World.Sandboxes {
		sandbox := &r.World.Sandboxes[i]
		r.sandboxes[sandbox.UID] = sandbox
		if ref := metav1.GetControllerOfNoCopy(sandbox); ref != nil {
			r.owned[ref.UID] = append(r.owned[ref.UID], sandbox)
		}
	}
	for i := range r.World.Pods {
		pod := &r.World.Pods[i]
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			r.pods[ref.UID] = append(r.pods[ref.UID], pod)
		}
	}
}

// judgeAccount compares a claim with what its user knows.
func (r *rest) judgeAccount(name string, account *Account, claim *extensionsv1beta1.SandboxClaim) {
	wanted := account.Claim
	wrong := func(format string, args ...any) { r.fail(KindClaim, name, name, "", format, args...) }
	switch {
	case wanted == nil && claim != nil:
		wrong("it was deleted and still exists (UID %s, deletionTimestamp %v, finalizers %v)", claim.UID, claim.DeletionTimestamp, claim.Finalizers)
	case wanted == nil:
	case account.DueToGo(r.Now) && claim != nil:
		wrong("it still exists, and was to be deleted at %s", wanted.Spec.Lifecycle.ShutdownTime.UTC())
	case account.DueToGo(r.Now):
	case claim == nil:
		wrong("it is gone, and nobody was to delete it (UID %s)", wanted.UID)
	case claim.UID != wanted.UID:
		wrong("its UID is %s, and the user's is %s", claim.UID, wanted.UID)
	case claim.DeletionTimestamp != nil:
		wrong("somebody deletes it (finalizers %v)", claim.Finalizers)
	case !equality.Semantic.DeepEqual(claim.Spec, wanted.Spec):
		wrong("its spec is not the user's: generation %d, and %d", claim.Generation, wanted.Generation)
	case isDue(claim, r.Now):
		r.judgeExpired(claim)
	case r.isInTheWay(claim):
		// It starts cold under its own name, which what was forgotten has.
	default:
		r.judgeServed(claim)
	}
}

// judgeExpired : it has let go of its Sandbox, and says why.
func (r *rest) judgeExpired(claim *extensionsv1beta1.SandboxClaim) {
	if !isExpired(claim) || isReady(claim) || claim.Status.Sandbox.Name != "" || len(claim.Status.Sandbox.PodIPs) > 0 {
		r.fail(KindClaim, claim.Name, claim.Name, claim.Status.Sandbox.Name, "it has expired and does not say so: %+v", claim.Status)
	}
	for _, sandbox := range r.owned[claim.UID] {
		r.fail(KindClaim, claim.Name, claim.Name, sandbox.Name, "it has expired and still has Sandbox %s", sandbox.Name)
	}
}

// judgeServed : it has one Sandbox, and says so.
func (r *rest) judgeServed(claim *extensionsv1beta1.SandboxClaim) {
	owned := r.owned[claim.UID]
	if len(owned) != 1 {
		r.fail(KindClaim, claim.Name, claim.Name, claim.Status.Sandbox.Name, "want one Sandbox of its own, there are %d; its status is %+v", len(owned), claim.Status)
		return
	}
	sandbox := owned[0]
	wrong := func(format string, args ...any) {
		r.fail(KindClaim, claim.Name, claim.Name, sandbox.Name, format, args...)
	}
	if claim.Status.Sandbox.Name != sandbox.Name {
		wrong("its Sandbox is %s, and it says %q", sandbox.Name, claim.Status.Sandbox.Name)
	}
	if !slices.Equal(claim.Status.Sandbox.PodIPs, sandbox.Status.PodIPs) {
		wrong("it says that the IPs of its Sandbox are %v, and they are %v", claim.Status.Sandbox.PodIPs, sandbox.Status.PodIPs)
	}
	if why := whyNotReady(claim.Status.Conditions, claim.Generation); why != "" {
		wrong("%s", why)
	}
	if label := sandbox.Labels[sandboxv1beta1.LabelClaimUID]; label != string(claim.UID) {
		wrong("its Sandbox is labelled as that of claim %q", label)
	}
	if uid := discarding(claim); r.sandboxes[uid] != nil {
		wrong("it has said that it will delete Sandbox %s (UID %s), which still stands", r.sandboxes[uid].Name, uid)
	}
}
