package check

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// Account is what a user knows of one name.
type Account struct {
	// Sandbox is the one that there should be, as the API server answered the user's last write; nil: there should be none.
	Sandbox *sandboxv1beta1.Sandbox
	// PodEnds is how often the user gave a controller reason to delete the Pod of a Sandbox of this name: it was suspended, if
	// only from the first, its time came, or it was deleted in the foreground.
	PodEnds int
	// Orphaned says that a Sandbox of this name once left its children behind, so that some may have no owner.
	Orphaned bool
	// Disk is the UID of the PersistentVolumeClaim that was left behind and that nobody was told to delete since.
	Disk types.UID
}

// DueToGo says whether the Sandbox has come to the time at which it is to be deleted.
func (a *Account) DueToGo(now time.Time) bool {
	return a.Sandbox != nil && a.Sandbox.Spec.ShutdownPolicy == sandboxv1beta1.ShutdownPolicyDelete && hasExpired(a.Sandbox, now)
}

// Created records a new Sandbox; one that was there before has gone, since the name was free.
func (a *Account) Created(sandbox *sandboxv1beta1.Sandbox) {
	a.Deleted()
	a.Sandbox = sandbox
}

// Deleted records that the Sandbox is gone with all it has.
func (a *Account) Deleted() {
	if hasDisk(a.Sandbox) {
		a.Disk = ""
	}
	a.Sandbox = nil
}

// LeftBehind records that the Sandbox is gone without its children. disk is the PersistentVolumeClaim that it has for
// sure; empty: it may have none.
func (a *Account) LeftBehind(disk types.UID) {
	if hasDisk(a.Sandbox) {
		a.Disk = disk
	}
	a.Sandbox, a.Orphaned = nil, true
}

func hasDisk(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox != nil && len(sandbox.Spec.VolumeClaimTemplates) > 0
}

func hasExpired(sandbox *sandboxv1beta1.Sandbox, now time.Time) bool {
	at := sandbox.Spec.ShutdownTime
	return at != nil && !now.Before(at.Time)
}

func isSuspended(sandbox *sandboxv1beta1.Sandbox) bool {
	return sandbox.Spec.OperatingMode == sandboxv1beta1.OperatingModeSuspended
}
