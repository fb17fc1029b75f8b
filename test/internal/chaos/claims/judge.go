package claims

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/sighting"
	"sigs.k8s.io/agent-sandbox/test/internal/promises"
)

// Kinds of objects, as a Violation names them.
const (
	KindClaim   = extensionsv1beta1.SandboxClaimKind
	KindPool    = extensionsv1beta1.SandboxWarmPoolKind
	KindSandbox = sandboxv1beta1.SandboxKind
)

// Figures are what a Judge counts.
type Figures struct {
	// Made are claims that appeared.
	Made int `json:"made"`
	// Warm and Cold are the Sandboxes that were published, by how they were launched.
	Warm int `json:"warm"`
	Cold int `json:"cold"`
	// Adoptions are members that went from their pool to a claim.
	Adoptions int `json:"adoptions"`
	// Replaced are published Sandboxes that went while their claims stayed, and whose claims published another.
	Replaced int `json:"replaced"`
	// Discards are extra Sandboxes that claims were to delete.
	Discards int `json:"discards"`
	// Unseen are changes that no watch told.
	Unseen int `json:"unseen"`
}

// Judge looks at all changes of Sandboxes, claims and pools, in the order in which they happened. It is safe for concurrent use.
type Judge struct {
	deeds *Deeds
	// batch is how many members a controller makes at a time.
	batch  int
	broken func(check.Violation)

	mu        sync.Mutex
	ledger    promises.Ledger
	sandboxes map[types.UID]*sandboxv1beta1.Sandbox
	names     map[string]types.UID // of Sandboxes
	claims    map[types.UID]*binding
	pools     map[types.UID]*population
	figures   Figures
}

// binding is what a claim has told.
type binding struct {
	claim *extensionsv1beta1.SandboxClaim
	// published is the Sandbox whose name the claim shows; empty: none is known.
	published types.UID
	// lost says that one was published and went while the claim had a right to it.
	lost bool
}

// NewJudge returns a Judge that tells what must never be to broken.
func NewJudge(deeds *Deeds, batch int, broken func(check.Violation)) *Judge {
	return &Judge{
		deeds: deeds, batch: batch, broken: broken, ledger: promises.NewLedger(),
		sandboxes: map[types.UID]*sandboxv1beta1.Sandbox{}, names: map[string]types.UID{},
		claims: map[types.UID]*binding{}, pools: map[types.UID]*population{},
	}
}

// Figures returns what has been counted.
func (j *Judge) Figures() Figures {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.figures
}

// Living is how many Sandboxes there are.
func (j *Judge) Living() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.sandboxes)
}

// See judges a change.
func (j *Judge) See(c sighting.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.Unseen {
		j.figures.Unseen++
	}
	switch c.Object().(type) {
	case *sandboxv1beta1.Sandbox:
		before, _ := c.Before.(*sandboxv1beta1.Sandbox)
		after, _ := c.After.(*sandboxv1beta1.Sandbox)
		j.seeSandbox(c, before, after)
	case *extensionsv1beta1.SandboxClaim:
		before, _ := c.Before.(*extensionsv1beta1.SandboxClaim)
		after, _ := c.After.(*extensionsv1beta1.SandboxClaim)
		j.seeClaim(c, before, after)
	case *extensionsv1beta1.SandboxWarmPool:
		if pool, ok := c.After.(*extensionsv1beta1.SandboxWarmPool); ok {
			j.population(pool.UID).resize(c.Seen, pool)
		}
	}
}

func (j *Judge) fail(kind, name, claim, sandbox, format string, args ...any) {
	j.broken(check.Violation{Kind: kind, Name: name, Claim: claim, Sandbox: sandbox, Broken: fmt.Sprintf(format, args...)})
}

// ownerOf returns the controller of an object if it is of that kind.
func ownerOf(object metav1.Object, kind string) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != kind {
		return nil
	}
	return ref
}
