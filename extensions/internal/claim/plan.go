package claim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// plan is all that one pass writes besides the status, decided beforehand. Nil and empty mean no such write.
type plan struct {
	// take asks for a member of the pool.
	take *taking
	// create is the Sandbox to start where none was taken.
	create *sandboxv1beta1.Sandbox
	// discard is a Sandbox of the claim that nobody is to use.
	discard *discard
	// relabel edits the metadata that the Pod of the published Sandbox has from the claim.
	relabel *relabelling
	// remove deletes the claim itself.
	remove *removal
	// refused says why the claim gets no Sandbox.
	refused *refusal
	// again asks for one more pass at once.
	again bool
	// wake is how long until time alone changes the plan; zero means never.
	wake time.Duration
}

// taking says which members of which pool will do.
type taking struct {
	pool types.UID
	// namespace is the pool's, and so the members'.
	namespace string
	// freshOnly asks for members built from the template as it is now.
	freshOnly bool
}

// discard is a Sandbox to delete, at the version at which it was seen.
type discard struct {
	target target
	// fenced says that the claim has told so before.
	fenced bool
}

// target names an object to delete. The delete fails when the object is another by now, or has changed.
type target struct {
	name            string
	uid             types.UID
	resourceVersion string
}

// removal deletes the claim, with its dependents after it or before it.
type removal struct {
	target      target
	propagation metav1.DeletionPropagation
}

// refusal is why a claim gets no Sandbox, as its condition says it. It stands until the claim, or what it names, changes.
type refusal struct {
	reason, message string
}

func (r refusal) Error() string { return r.message }

// wakeWithin brings the next look forward to d from now.
func (p *plan) wakeWithin(d time.Duration) {
	if d > 0 && (p.wake == 0 || d < p.wake) {
		p.wake = d
	}
}

// done is what became of a plan.
type done struct {
	// sandbox is the one that the claim got in this pass.
	sandbox *sandboxv1beta1.Sandbox
	// claimVersion is where the claim stands after this process's own writes.
	claimVersion string
	// assigned is the name that the claim's annotation says by now.
	assigned string
	// outdated says that something has changed since it was seen: decide anew.
	outdated bool
	// removed says that the claim itself was deleted.
	removed bool
	errors  []error
}

func (d *done) fail(err error) {
	if err != nil {
		d.errors = append(d.errors, err)
	}
}
