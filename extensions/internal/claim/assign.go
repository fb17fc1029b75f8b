package claim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// assignment is the write of what people look for on a claim: when it was first seen and which Sandbox it was given. It goes
// on beside the commit, since it is another object's, and is awaited before the status is written on top of it.
type assignment struct {
	into     *done
	finished chan struct{}
	name     string
	// version is where the claim stands afterwards; empty when nobody knows.
	version string
}

// assign starts the write, unless there is nothing to write.
func (r *Reconciler) assign(ctx context.Context, s seen, name string, d *done) *assignment {
	a := &assignment{into: d, finished: make(chan struct{}), name: name, version: d.claimVersion}
	changes := observations(s, name)
	if !r.observability || d.claimVersion == "" || d.assigned == name || len(changes) == 0 {
		a.name = d.assigned
		close(a.finished)
		return a
	}
	go func() {
		defer close(a.finished)
		a.version = r.annotate(ctx, s.claim, apply.Metadata{UID: s.claim.UID, ResourceVersion: a.version, Annotations: changes})
	}()
	return a
}

// wait awaits the write.
func (a *assignment) wait() {
	<-a.finished
	a.into.claimVersion, a.into.assigned = a.version, a.name
}

// annotate returns the version that the claim stands at afterwards; empty when it has moved, or nobody knows.
func (r *Reconciler) annotate(ctx context.Context, claim *extensionsv1beta1.SandboxClaim, patch apply.Metadata) string {
	body, err := patch.Bytes(nil)
	if err != nil {
		log.FromContext(ctx).Error(err, "Encoding the annotations of a claim")
		return ""
	}
	result := &extensionsv1beta1.SandboxClaim{}
	result.Namespace, result.Name = claim.Namespace, claim.Name
	if err := r.client.Patch(ctx, result, client.RawPatch(types.MergePatchType, body)); err != nil {
		log.FromContext(ctx).V(1).Info("The claim was not annotated", "error", err.Error())
		return ""
	}
	return result.ResourceVersion
}

// observations are the annotations that are missing or wrong once the claim is given the Sandbox of that name.
func observations(s seen, name string) map[string]*string {
	want := map[string]string{extensionsv1beta1.AnnotationSandboxName: name}
	if s.claim.Annotations[extensionsv1beta1.AnnotationFirstObservedAt] == "" {
		want[extensionsv1beta1.AnnotationFirstObservedAt] = firstObserved(s).UTC().Format(time.RFC3339Nano)
	}
	if s.trace != "" && s.claim.Annotations[sandboxv1beta1.AnnotationTraceContext] == "" {
		want[sandboxv1beta1.AnnotationTraceContext] = s.trace
	}
	return apply.Changes(s.claim.Annotations, want)
}
