package promises

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Ledger keeps what was ever true of claims and Sandboxes: what is promised is promised for ever.
type Ledger struct {
	// owners are the claims that have controlled a Sandbox, owned the Sandboxes that a claim has controlled.
	owners, owned relation
	// publishers are the claims that have published the name of a Sandbox, published the names that a claim has.
	publishers, published relation
}

const givenTwice = "Sandbox %s was given to several claims: %v"

// relation is what stands beside what.
type relation map[string]map[string]bool

// NewLedger returns one that has seen nothing.
func NewLedger() Ledger {
	return Ledger{owners: relation{}, owned: relation{}, publishers: relation{}, published: relation{}}
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

// SeeSandbox takes in who controls a Sandbox.
func (l Ledger) SeeSandbox(sandbox *sandboxv1beta1.Sandbox) {
	owner := metav1.GetControllerOfNoCopy(sandbox)
	if owner == nil || owner.Kind != extensionsv1beta1.SandboxClaimKind {
		return
	}
	claim, self := Describe(owner.Name, owner.UID), Describe(sandbox.Name, sandbox.UID)
	l.owners.add(self, claim)
	l.owned.add(claim, self)
}

// SeeClaim takes in what a claim has published.
func (l Ledger) SeeClaim(claim *extensionsv1beta1.SandboxClaim) {
	if name := claim.Status.Sandbox.Name; name != "" {
		l.publishers.add(name, Describe(claim.Name, claim.UID))
		l.published.add(Describe(claim.Name, claim.UID), name)
	}
}

// GivenTwice is an error if the Sandbox was ever given to more than one claim, which must never be.
func (l Ledger) GivenTwice(sandbox *sandboxv1beta1.Sandbox) error {
	self := Describe(sandbox.Name, sandbox.UID)
	return errors.Join(relation{self: l.owners[self]}.doubles(givenTwice)...)
}

// Broken lists the promises that were not kept where nobody deletes anything and no claim expires: each claim has one Sandbox.
func (l Ledger) Broken() []error {
	return slices.Concat(
		l.owners.doubles(givenTwice),
		l.owned.doubles("claim %s got several Sandboxes: %v"),
		l.publishers.doubles("Sandbox %q was published by several claims: %v"),
		l.published.doubles("claim %s has published several names: %v"))
}

// Describe names an object among those that had its name.
func Describe(name string, uid types.UID) string { return fmt.Sprintf("%q (%s)", name, uid) }
