package check

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// judgeAccounts compares what there is with what users know.
func (j *judge) judgeAccounts() {
	for _, name := range slices.Sorted(maps.Keys(j.Accounts)) {
		j.judgeAccount(name, j.Accounts[name], j.sandboxes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(j.sandboxes)) {
		if j.Accounts[name] == nil {
			j.fail(KindSandbox, name, name, "nobody made it")
		}
	}
}

func (j *judge) judgeAccount(name string, account *Account, s *subject) {
	wanted := account.Sandbox
	switch {
	case wanted == nil && s != nil:
		j.fail(KindSandbox, name, name, "it was deleted and still exists (UID %s, deletionTimestamp %v, finalizers %v)",
			s.sandbox.UID, s.sandbox.DeletionTimestamp, s.sandbox.Finalizers)
	case wanted == nil:
		j.judgeDisk(name, account)
	case account.DueToGo(j.Now) && s != nil:
		j.fail(KindSandbox, name, name, "it still exists, and was to be deleted at %s", wanted.Spec.ShutdownTime.UTC())
	case account.DueToGo(j.Now):
		// Gone, as it should be.
	case s == nil:
		j.fail(KindSandbox, name, name, "it is gone, and nobody was to delete it (UID %s)", wanted.UID)
	default:
		if j.judgeIdentity(name, account, s) {
			s.judgeAll()
			j.judgeDisk(name, account)
		}
	}
}

// judgeIdentity says whether the Sandbox is the one that the user means, with the spec that the user gave it.
func (j *judge) judgeIdentity(name string, account *Account, s *subject) bool {
	wanted := account.Sandbox
	switch {
	case s.sandbox.UID != wanted.UID:
		j.fail(KindSandbox, name, name, "its UID is %s, and the user's is %s", s.sandbox.UID, wanted.UID)
	case s.sandbox.DeletionTimestamp != nil:
		j.fail(KindSandbox, name, name, "somebody deletes it (finalizers %v)", s.sandbox.Finalizers)
	case !equality.Semantic.DeepEqual(s.sandbox.Spec, wanted.Spec):
		j.fail(KindSandbox, name, name, "its spec is not the user's: generation %d, and %d", s.sandbox.Generation, wanted.Generation)
	default:
		return true
	}
	return false
}

// judgeDisk looks for the PersistentVolumeClaim that was left behind.
func (j *judge) judgeDisk(name string, account *Account) {
	if account.Disk == "" {
		return
	}
	for i := range j.World.Claims {
		if j.World.Claims[i].UID == account.Disk {
			return
		}
	}
	j.fail(KindClaim, ClaimName(name), name, "the one that was left behind (UID %s) is gone", account.Disk)
}

// PodEnds compares how often controllers deleted Pods, by name, with the reasons that users gave for it. One that sees an old
// spec beside a new Pod would delete more.
func PodEnds(accounts map[string]*Account, deleted map[string]int) []Violation {
	var found []Violation
	for _, name := range slices.Sorted(maps.Keys(deleted)) {
		reasons := 0
		if account := accounts[name]; account != nil {
			reasons = account.PodEnds
		}
		if deleted[name] > reasons {
			found = append(found, Violation{Kind: KindPod, Name: name, Sandbox: name, Broken: fmt.Sprintf(
				"its controller deleted it %d times, and there was reason for %d at most", deleted[name], reasons)})
		}
	}
	return found
}
