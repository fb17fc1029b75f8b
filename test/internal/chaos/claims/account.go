package claims

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Account is what a user knows of one name.
type Account struct {
	// Claim is the one that there should be, as the API server answered the user's last write; nil: there should be none.
	Claim *extensionsv1beta1.SandboxClaim
	// Hidden are earlier claims of the name that went, and were followed by another, while the control plane was not there or just
	// starting. A watch that was broken off meanwhile shows the two as one that was updated, and the garbage collector of Kubernetes
	// then keeps the first in mind for ever, and what it had.
	Hidden map[types.UID]bool
}

// Hide takes in that the end of a claim may have been hidden.
func (a *Account) Hide(uid types.UID) {
	if a.Hidden == nil {
		a.Hidden = map[types.UID]bool{}
	}
	a.Hidden[uid] = true
}

// DueToGo says whether the claim has come to the time at which it is to be deleted.
func (a *Account) DueToGo(now time.Time) bool {
	return a.Claim != nil && isDue(a.Claim, now) && a.Claim.Spec.Lifecycle.ShutdownPolicy != extensionsv1beta1.ShutdownPolicyRetain
}

// isDue says whether the shutdownTime of a claim has come.
func isDue(claim *extensionsv1beta1.SandboxClaim, now time.Time) bool {
	life := claim.Spec.Lifecycle
	return life != nil && life.ShutdownTime != nil && !now.Before(life.ShutdownTime.Time)
}
