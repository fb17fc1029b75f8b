package warmpool

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// plan is all that one pass writes besides the status, decided beforehand.
type plan struct {
	// retry are names of members whose creation nobody has answered for: they are made again under the same name, so that
	// there is one of each at most.
	retry []string
	// drop are such names that are not needed any more.
	drop []string
	// create is how many new members are made.
	create int
	// remove are the members that go.
	remove []target
	// wake is how long until time alone changes the plan; zero means never.
	wake time.Duration
}

// target names a member to delete. The delete fails when it is another by now, or has changed: a claim may have taken it.
type target struct {
	name            string
	uid             types.UID
	resourceVersion string
}

// wakeWithin brings the next look forward to d from now.
func (p *plan) wakeWithin(d time.Duration) {
	if d > 0 && (p.wake == 0 || d < p.wake) {
		p.wake = d
	}
}

// done is what became of a plan.
type done struct {
	created []*sandboxv1beta1.Sandbox
	// deleted is how many members were.
	deleted int
	// outdated says that a member has changed since it was seen: decide anew.
	outdated bool
	errors   []error
}

func (d *done) fail(err error) {
	if err != nil {
		d.errors = append(d.errors, err)
	}
}
