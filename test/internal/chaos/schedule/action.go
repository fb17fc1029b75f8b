package schedule

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// Kind is what a user does to a Sandbox.
type Kind string

// All that users do.
const (
	// Create makes a Sandbox where there is none.
	Create Kind = "create"
	// Suspend and Resume set the operatingMode.
	Suspend Kind = "suspend"
	Resume  Kind = "resume"
	// Expire sets a shutdownTime that is near or past, and the shutdownPolicy.
	Expire Kind = "expire"
	// Revive moves the shutdownTime far into the future.
	Revive Kind = "revive"
	// Delete deletes the Sandbox with all it has.
	Delete Kind = "delete"
	// Recreate deletes it and at once makes another of its name, while the old Pod may still be there.
	Recreate Kind = "recreate"
	// DeletePod deletes its Pod.
	DeletePod Kind = "delete pod"
	// Orphan deletes the Sandbox and leaves its children where they are, as kubectl delete --cascade=orphan.
	Orphan Kind = "orphan"
	// Adopt is Orphan, and at once another Sandbox of its name, which finds the children.
	Adopt Kind = "adopt"
)

// Kinds returns all kinds, in the order in which they are reported.
func Kinds() []Kind {
	return []Kind{Create, Suspend, Resume, Expire, Revive, Delete, Recreate, DeletePod, Orphan, Adopt}
}

// Shape is how a Sandbox is created.
type Shape struct {
	Disk, Service, Suspended bool
	// GraceSeconds is how long its Pod takes to terminate; 0: no time.
	GraceSeconds int64
	// Shutdown is the time from its creation to its shutdownTime; 0: it has none.
	Shutdown time.Duration
	Policy   sandboxv1beta1.ShutdownPolicy // with Shutdown
}

// Action is one thing that a user does.
type Action struct {
	At   time.Duration // since the begin of the run
	Name string        // of the Sandbox
	Kind Kind
	// Shape is that of the Sandbox to make, for Create, Recreate and Adopt.
	Shape Shape
	// Shutdown and Policy are for Expire: the time until the shutdownTime, and what happens then.
	Shutdown time.Duration
	Policy   sandboxv1beta1.ShutdownPolicy
	// Cascade is for Delete and Recreate.
	Cascade metav1.DeletionPropagation
}

// String says what is done, for people.
func (a Action) String() string {
	switch a.Kind {
	case Create, Adopt:
		return fmt.Sprintf("%s %+v", a.Kind, a.Shape)
	case Recreate:
		return fmt.Sprintf("%s (%s) %+v", a.Kind, a.Cascade, a.Shape)
	case Delete:
		return fmt.Sprintf("%s (%s)", a.Kind, a.Cascade)
	case Expire:
		return fmt.Sprintf("%s in %s (%s)", a.Kind, a.Shutdown, a.Policy)
	default:
		return string(a.Kind)
	}
}
