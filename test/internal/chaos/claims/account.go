package claims

import (
	"time"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Account is what a user knows of one name.
type Account struct {
	// Claim is the one that there should be, as the API server answered the user's last write; nil: there should be none.
	Claim *extensionsv1beta1.SandboxClaim
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
