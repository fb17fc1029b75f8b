package chaos

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// order finds what a controller must not do to the children of a Sandbox before, or after, that is gone; the versions tell
// which was first. Its watches see the two in any order. One that makes a child for a Sandbox that is gone does no harm: the garbage
// collector removes it. But when it takes over one that was left behind, that is lost.
type order struct {
	first check.Disks
	acts  map[types.UID][]act
	gone  map[types.UID]string // versions of the ends of Sandboxes
}

// act is something that was done for a Sandbox.
type act struct {
	version string
	// allowed is when it may be done: -1 is before the end of the Sandbox, 1 after it.
	allowed int
	// slack is by how many writes of the cluster it may be on the wrong side.
	slack  uint64
	broken string
}

// writesInFlight is the slack of one that asked whether the Sandbox is there and then wrote: no write spans two objects, so the
// Sandbox can go between the two.
const writesInFlight = 300

func newOrder() order {
	return order{first: check.Disks{}, acts: map[types.UID][]act{}, gone: map[types.UID]string{}}
}

// hasDisk takes in which PersistentVolumeClaim a Sandbox has, and returns what is wrong with it. One that is replaced for a
// Sandbox that lives to the end is found then.
func (o order) hasDisk(sandbox types.UID, claim metav1.Object) []string {
	before, had := o.first[sandbox]
	if !had {
		o.first[sandbox] = claim.GetUID()
	}
	if !had || before == claim.GetUID() {
		return nil
	}
	return o.judge(sandbox, act{claim.GetResourceVersion(), 1, 0, fmt.Sprintf(
		"its Sandbox (UID %s) had the one of UID %s first, and got that of UID %s", sandbox, before, claim.GetUID())})
}

// takesOver takes in that a child without an owner got a Sandbox for one, and returns what is wrong with it.
func (o order) takesOver(sandbox types.UID, child metav1.Object) []string {
	return o.judge(sandbox, act{child.GetResourceVersion(), -1, writesInFlight, fmt.Sprintf(
		"%s (UID %s) was left behind, and taken over for a Sandbox (UID %s) that was gone", child.GetName(), child.GetUID(), sandbox)})
}

// ends takes in the end of a Sandbox, and returns what was wrong with it.
func (o order) ends(sandbox metav1.Object) []string {
	o.gone[sandbox.GetUID()] = sandbox.GetResourceVersion()
	acts := o.acts[sandbox.GetUID()]
	delete(o.acts, sandbox.GetUID())
	return o.judge(sandbox.GetUID(), acts...)
}

// judge keeps acts until the end of the Sandbox is known.
func (o order) judge(sandbox types.UID, acts ...act) []string {
	gone, known := o.gone[sandbox]
	if !known {
		o.acts[sandbox] = append(o.acts[sandbox], acts...)
		return nil
	}
	var broken []string
	for _, a := range acts {
		if is, err := resourceversion.CompareResourceVersion(a.version, gone); err == nil && is != a.allowed && !a.isWithinSlack(gone) {
			broken = append(broken, a.broken)
		}
	}
	return broken
}

// isWithinSlack says whether an act after the end of a Sandbox came so soon that it was under way by then.
func (a act) isWithinSlack(gone string) bool {
	did, err := strconv.ParseUint(a.version, 10, 64)
	if err != nil {
		return false
	}
	end, err := strconv.ParseUint(gone, 10, 64)
	return err == nil && did > end && did-end <= a.slack
}
