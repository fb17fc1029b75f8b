package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// additional is the Pod metadata of a claim's Sandbox, and which keys of it are the claim's: an annotation of the Sandbox lists
// them, so that they can be taken back.
type additional struct {
	metadata            sandboxv1beta1.PodMetadata
	labels, annotations string
}

// added puts a claim's metadata in the place of what the claim had added before, by those lists.
func added(have, want sandboxv1beta1.PodMetadata, labels, annotations string) additional {
	base := without(have, labels, annotations)
	return additional{
		metadata:    sandboxv1beta1.PodMetadata{Labels: merged(base.Labels, want.Labels), Annotations: merged(base.Annotations, want.Annotations)},
		labels:      newKeys(base.Labels, want.Labels),
		annotations: newKeys(base.Annotations, want.Annotations),
	}
}

// without is the metadata that is not the claim's.
func without(have sandboxv1beta1.PodMetadata, labels, annotations string) sandboxv1beta1.PodMetadata {
	return sandboxv1beta1.PodMetadata{Labels: withoutKeys(have.Labels, labels), Annotations: withoutKeys(have.Annotations, annotations)}
}

func withoutKeys(have map[string]string, keys string) map[string]string {
	kept := maps.Clone(have)
	for _, key := range strings.Split(keys, ",") {
		delete(kept, key)
	}
	return kept
}

func merged(base, more map[string]string) map[string]string {
	if len(base)+len(more) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, more)
	return all
}

// newKeys lists, sorted and comma-joined, the keys of more that base lacks.
func newKeys(base, more map[string]string) string {
	var keys []string
	for key := range more {
		if _, there := base[key]; !there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

// record is the annotations of a Sandbox that list the keys.
func (a additional) record() map[string]string {
	record := map[string]string{
		sandboxv1beta1.AnnotationPropagatedLabels: a.labels, sandboxv1beta1.AnnotationPropagatedAnnotations: a.annotations,
	}
	maps.DeleteFunc(record, func(_, keys string) bool { return keys == "" })
	return record
}

// ofSandbox is what a Sandbox of the claim, or one that is to become it, has to have.
func (s seen) ofSandbox(sandbox *sandboxv1beta1.Sandbox) additional {
	return added(sandbox.Spec.PodTemplate.Metadata, s.claim.Spec.AdditionalPodMetadata,
		sandbox.Annotations[sandboxv1beta1.AnnotationPropagatedLabels], sandbox.Annotations[sandboxv1beta1.AnnotationPropagatedAnnotations])
}

// additions are the steps of a patch that give a Sandbox the claim's metadata; none when it has it. They fail once somebody has
// changed the spec.
func additions(s seen, sandbox *sandboxv1beta1.Sandbox) []apply.Operation {
	wanted := s.ofSandbox(sandbox)
	var patch []apply.Operation
	if !equality.Semantic.DeepEqual(sandbox.Spec.PodTemplate.Metadata, wanted.metadata) {
		patch = append(patch, apply.Test("/metadata/generation", sandbox.Generation), apply.Set("/spec/podTemplate/metadata", wanted.metadata))
	}
	record := wanted.record()
	if len(record) > 0 && sandbox.Annotations == nil {
		patch = append(patch, apply.Set("/metadata/annotations", map[string]string{}))
	}
	for _, key := range []string{sandboxv1beta1.AnnotationPropagatedLabels, sandboxv1beta1.AnnotationPropagatedAnnotations} {
		standing, there := sandbox.Annotations[key]
		switch keys := record[key]; {
		case keys != "" && keys != standing:
			patch = append(patch, apply.Set(apply.Key("/metadata/annotations", key), keys))
		case keys == "" && there:
			patch = append(patch, apply.Remove(apply.Key("/metadata/annotations", key)))
		}
	}
	return patch
}

// relabelling brings the Sandbox that a claim has published in step with the claim's metadata as it is now.
type relabelling struct {
	name  string
	patch []apply.Operation
}

// relabel is the write that an edit of a bound claim asks for; nil when there is nothing to write, or the edit is refused.
func relabel(s seen, sandbox *sandboxv1beta1.Sandbox) *relabelling {
	changes := additions(s, sandbox)
	if len(changes) == 0 || sandbox.DeletionTimestamp != nil || refusedEdit(s, sandbox) != nil {
		return nil
	}
	preconditions := []apply.Operation{apply.Test("/metadata/uid", sandbox.UID), apply.Test("/metadata/deletionTimestamp", nil)}
	return &relabelling{name: sandbox.Name, patch: append(preconditions, changes...)}
}

// refusedEdit says why the metadata of a bound claim is not taken over. The Sandbox keeps what it has.
func refusedEdit(s seen, sandbox *sandboxv1beta1.Sandbox) *blueprint.Refusal {
	base := without(sandbox.Spec.PodTemplate.Metadata,
		sandbox.Annotations[sandboxv1beta1.AnnotationPropagatedLabels], sandbox.Annotations[sandboxv1beta1.AnnotationPropagatedAnnotations])
	refused := s.domains.CheckMetadata(s.claim.Spec.AdditionalPodMetadata, base)
	if refused == nil {
		return nil
	}
	return &blueprint.Refusal{Reason: refused.Reason, Message: fmt.Sprintf("Sandbox %q keeps the metadata that it has: %s", sandbox.Name, refused.Message)}
}
