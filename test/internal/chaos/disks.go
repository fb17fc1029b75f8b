package chaos

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
)

// disks knows the PersistentVolumeClaims of Sandboxes, by the Sandboxes' UIDs, and finds those that were replaced. A controller that
// has not seen yet that a Sandbox is gone may make one for it: no harm, the garbage collector removes it. So it takes the
// order of the two, which their versions tell.
type disks struct {
	first check.Disks
	// replaced are the versions of second ones, gone those of the ends of Sandboxes.
	replaced map[types.UID]string
	gone     map[types.UID]string
}

func newDisks() disks {
	return disks{first: check.Disks{}, replaced: map[types.UID]string{}, gone: map[types.UID]string{}}
}

// see takes in what a Sandbox has, and returns what is wrong with it.
func (d disks) see(sandbox types.UID, claim metav1.Object) string {
	before, had := d.first[sandbox]
	switch {
	case !had:
		d.first[sandbox] = claim.GetUID()
		return ""
	case before == claim.GetUID() || d.replaced[sandbox] != "":
		return ""
	}
	d.replaced[sandbox] = claim.GetResourceVersion()
	return d.judge(sandbox)
}

// forget takes in the end of a Sandbox, and returns what was wrong with it.
func (d disks) forget(sandbox metav1.Object) string {
	d.gone[sandbox.GetUID()] = sandbox.GetResourceVersion()
	return d.judge(sandbox.GetUID())
}

// judge knows nothing before both are seen. A Sandbox that lives to the end is judged then.
func (d disks) judge(sandbox types.UID) string {
	replaced, gone := d.replaced[sandbox], d.gone[sandbox]
	if replaced == "" || gone == "" {
		return ""
	}
	order, err := resourceversion.CompareResourceVersion(replaced, gone)
	if err != nil || order > 0 {
		return ""
	}
	return fmt.Sprintf("its Sandbox (UID %s) had the one of UID %s first and got another", sandbox, d.first[sandbox])
}
