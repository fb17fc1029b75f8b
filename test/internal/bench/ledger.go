package bench

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// ledger keeps what was ever true of claims and Sandboxes: what is promised is promised for ever.
type ledger struct {
	// owners are the claims that have controlled a Sandbox, owned the Sandboxes that a claim has controlled.
	owners, owned relation
	// publishers are the claims that have published the name of a Sandbox, published the names that a claim has.
	publishers, published relation
}

// relation is what stands beside what.
type relation map[string]map[string]bool

func newLedger() ledger {
	return ledger{owners: relation{}, owned: relation{}, publishers: relation{}, published: relation{}}
}

func (r relation) add(one, other string) {
	if r[one] == nil {
		r[one] = map[string]bool{}
	}
	r[one][other] = true
}

// doubles says, by these words, which have more than one beside them.
func (r relation) doubles(format string) []error {
	var all []error
	for _, one := range slices.Sorted(maps.Keys(r)) {
		if others := slices.Sorted(maps.Keys(r[one])); len(others) > 1 {
			all = append(all, fmt.Errorf(format, one, others))
		}
	}
	return all
}

func (l ledger) seeSandbox(sandbox *sandboxv1beta1.Sandbox) {
	owner := metav1.GetControllerOfNoCopy(sandbox)
	if owner == nil || owner.Kind != extensionsv1beta1.SandboxClaimKind {
		return
	}
	claim, self := describe(owner.Name, owner.UID), describe(sandbox.Name, sandbox.UID)
	l.owners.add(self, claim)
	l.owned.add(claim, self)
}

func (l ledger) seeClaim(claim *extensionsv1beta1.SandboxClaim) {
	if name := claim.Status.Sandbox.Name; name != "" {
		l.publishers.add(name, describe(claim.Name, claim.UID))
		l.published.add(describe(claim.Name, claim.UID), name)
	}
}

// broken lists the promises that were not kept.
func (l ledger) broken() []error {
	return slices.Concat(
		l.owners.doubles("Sandbox %s was given to several claims: %v"),
		l.owned.doubles("claim %s got several Sandboxes: %v"),
		l.publishers.doubles("Sandbox %q was published by several claims: %v"),
		l.published.doubles("claim %s has published several names: %v"))
}

func describe(name string, uid types.UID) string { return fmt.Sprintf("%q (%s)", name, uid) }
