package claim

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/podmeta"
)

// recordRules name the annotations of a Sandbox that list which of its Pod's metadata is the claim's, so that it can be taken back.
func recordRules() podmeta.Rules {
	return podmeta.Rules{
		LabelsKey: sandboxv1beta1.AnnotationPropagatedLabels, AnnotationsKey: sandboxv1beta1.AnnotationPropagatedAnnotations,
	}
}

// additional is the Pod metadata of a claim's Sandbox, and what of it is the claim's own.
type additional struct {
	metadata sandboxv1beta1.PodMetadata
	own      podmeta.Metadata
}

// added puts a claim's metadata beside what is not the claim's.
func added(base, want sandboxv1beta1.PodMetadata) additional {
	return additional{
		metadata: sandboxv1beta1.PodMetadata{Labels: merged(base.Labels, want.Labels), Annotations: merged(base.Annotations, want.Annotations)},
		own:      podmeta.Metadata{Labels: lacking(base.Labels, want.Labels), Annotations: lacking(base.Annotations, want.Annotations)},
	}
}

// baseOf is the metadata of a Sandbox's Pod that is not the claim's.
func baseOf(sandbox *sandboxv1beta1.Sandbox) sandboxv1beta1.PodMetadata {
	have, rules := sandbox.Spec.PodTemplate.Metadata, recordRules()
	return sandboxv1beta1.PodMetadata{
		Labels:      without(have.Labels, sandbox.Annotations[rules.LabelsKey]),
		Annotations: without(have.Annotations, sandbox.Annotations[rules.AnnotationsKey]),
	}
}

// without leaves out the keys of a comma-joined list.
func without(have map[string]string, list string) map[string]string {
	kept := maps.Clone(have)
	for key := range strings.SplitSeq(list, ",") {
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

// lacking is what of more has keys that base lacks.
func lacking(base, more map[string]string) map[string]string {
	kept := maps.Clone(more)
	maps.DeleteFunc(kept, func(key, _ string) bool { _, there := base[key]; return there })
	return kept
}

// record is the annotations of a Sandbox that list what is the claim's own.
func (a additional) record() map[string]string { return recordRules().Lists(a.own) }

// ofSandbox is what a Sandbox of the claim, or one that is to become it, has to have.
func (s seen) ofSandbox(sandbox *sandboxv1beta1.Sandbox) additional {
	return added(baseOf(sandbox), s.claim.Spec.AdditionalPodMetadata)
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
	refused := s.domains.CheckMetadata(s.claim.Spec.AdditionalPodMetadata, baseOf(sandbox))
	if refused == nil {
		return nil
	}
	return &blueprint.Refusal{Reason: refused.Reason, Message: fmt.Sprintf("Sandbox %q keeps the metadata that it has: %s", sandbox.Name, refused.Message)}
}
