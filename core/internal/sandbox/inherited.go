package sandbox

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// inheritable is a label of a Sandbox that its Pod carries too, by the kinds of the extensions' group that must control the Sandbox.
type inheritable struct {
	label  string
	owners []string
}

func inheritables() []inheritable {
	pool, claim := sandboxv1beta1.WarmPoolKind, sandboxv1beta1.ClaimKind
	return []inheritable{
		{sandboxv1beta1.LabelTemplateRefHash, []string{pool, claim}},
		{sandboxv1beta1.LabelTemplateRef, []string{pool, claim}},
		{sandboxv1beta1.LabelWarmPool, []string{pool}},
		{sandboxv1beta1.LabelClaimUID, []string{claim}},
	}
}

// inheritedLabels are those of its Sandbox that a Pod carries. Anybody can label a Sandbox: a label that says whose it is
// counts only when the owner is of the kind that sets it.
func inheritedLabels(sandbox *sandboxv1beta1.Sandbox) map[string]string {
	labels := map[string]string{}
	owner := extensionOwner(sandbox)
	for _, candidate := range inheritables() {
		if value := sandbox.Labels[candidate.label]; value != "" && slices.Contains(candidate.owners, owner) {
			labels[candidate.label] = value
		}
	}
	if creator := sandbox.Labels[sandboxv1beta1.LabelCreatedBy]; creator != "" {
		labels[sandboxv1beta1.LabelCreatedBy] = createdBy(sandbox)
	}
	return labels
}

// inheritedAnnotations are those of the podTemplate, and for a member of a pool the leave to evict it that its pool has put on the
// Sandbox. It counts as taken from the template, so that it goes from the Pod as the Sandbox becomes a claim's.
func inheritedAnnotations(sandbox *sandboxv1beta1.Sandbox) map[string]string {
	const leave = sandboxv1beta1.AnnotationSafeToEvict
	template := sandbox.Spec.PodTemplate.Metadata.Annotations
	_, said := template[leave]
	if said || sandbox.Annotations[leave] != "true" || extensionOwner(sandbox) != sandboxv1beta1.WarmPoolKind {
		return template
	}
	annotations := map[string]string{leave: "true"}
	maps.Copy(annotations, template)
	return annotations
}

// extensionOwner is the kind of the extensions' object that controls the Sandbox, empty without one.
func extensionOwner(sandbox *sandboxv1beta1.Sandbox) string {
	for _, kind := range []string{sandboxv1beta1.ClaimKind, sandboxv1beta1.WarmPoolKind} {
		if _, ok := ownership.ControllerOf(metav1.Object(sandbox), schema.GroupKind{Group: sandboxv1beta1.ExtensionsGroupName, Kind: kind}); ok {
			return kind
		}
	}
	return ""
}

// createdBy is the creator of the Sandbox, one of few values however it was written.
func createdBy(sandbox *sandboxv1beta1.Sandbox) string {
	return oneOf(sandbox.Labels[sandboxv1beta1.LabelCreatedBy], sandboxv1beta1.CreatedByUnknown,
		sandboxv1beta1.CreatedByGoClient, sandboxv1beta1.CreatedByPythonClient, sandboxv1beta1.CreatedByController)
}

// launchType is how the Sandbox came to its claim, one of few values however it was written.
func launchType(sandbox *sandboxv1beta1.Sandbox) string {
	return oneOf(sandbox.Labels[sandboxv1beta1.LabelLaunchType], sandboxv1beta1.LaunchTypeUnknown,
		sandboxv1beta1.LaunchTypeWarm, sandboxv1beta1.LaunchTypeCold)
}

func oneOf(value, otherwise string, known ...string) string {
	if slices.Contains(known, value) {
		return value
	}
	return otherwise
}
