package sandbox

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// plan is all that one reconcile writes to children, decided beforehand. Nil and empty mean no such write.
type plan struct {
	claims  []claimAction
	pod     podAction
	service serviceAction
	// remove deletes the Sandbox itself.
	remove *target
	// dropPodName removes the annotation that names a Pod which is gone.
	dropPodName bool
	// wake is how long until time alone changes the plan; zero means never.
	wake time.Duration
}

// adopts says whether a plan takes over an object that the Sandbox does not own.
func (p *plan) adopts() bool {
	for _, claim := range p.claims {
		if claim.adopt != nil {
			return true
		}
	}
	return p.pod.adopts() || p.service.patch != nil && p.service.patch.metadata.OwnerReferences != nil
}

// wakeWithin brings the next look forward to d from now.
func (p *plan) wakeWithin(d time.Duration) {
	if d > 0 && (p.wake == 0 || d < p.wake) {
		p.wake = d
	}
}

// claimAction is what is done about one PersistentVolumeClaim: one of its fields is set.
type claimAction struct {
	create  *corev1.PersistentVolumeClaim
	adopt   *metadataPatch
	refused error
}

// podAction is what is done about the Pod: one of its fields is set, or none; replace comes with create.
type podAction struct {
	// replace deletes the Pod of that name which failed, before create makes its successor.
	replace *target
	create  *corev1.Pod
	patch   *metadataPatch
	remove  []target
	refused error
}

// adopts says whether a Pod is taken over.
func (a *podAction) adopts() bool {
	return a.patch != nil && a.patch.metadata.OwnerReferences != nil
}

// serviceAction is what is done about the Service: one of its fields is set, or none.
type serviceAction struct {
	create  *corev1.Service
	patch   *servicePatch
	remove  *target
	refused error
}

// target names an object to delete. The delete fails when the object is another by now, and, with a
// resourceVersion, when it has changed.
type target struct {
	name            string
	uid             types.UID
	resourceVersion string
}

type metadataPatch struct {
	name     string
	metadata apply.Metadata
}

type servicePatch struct {
	name     string
	metadata apply.Metadata
	spec     *serviceSpecPatch
}

// serviceSpecPatch is the part of a Service's spec that is kept in step. An empty list of ports is written, nil is not.
type serviceSpecPatch struct {
	Selector map[string]*string   `json:"selector,omitempty"`
	Ports    []corev1.ServicePort `json:"ports,omitzero"`
}

// refusal says why an object that stands in the way is not touched.
type refusal string

func (r refusal) Error() string { return string(r) }

// awaited says what has to go first. Nothing is wrong, and no event need tell that it is gone.
type awaited string

func (a awaited) Error() string { return string(a) }

// invalidSpec says what is wrong with the spec itself: nothing is tried until it changes.
type invalidSpec string

func (i invalidSpec) Error() string { return string(i) }

// done is what became of a plan.
type done struct {
	pod      *corev1.Pod     // as created or patched
	service  *corev1.Service // as created or patched
	removed  bool            // the Sandbox itself was deleted
	outdated bool            // the Sandbox has changed since it was seen: decide anew
	podError error           // why there is no Pod, or not the wanted one
	kept     []types.UID     // Pods that could not be deleted
	errors   []error         // everything that went wrong, podError included
}

func (d *done) fail(err error) {
	if err != nil {
		d.errors = append(d.errors, err)
	}
}
