package sandbox

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/apply"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

// claimActions decides about the PersistentVolumeClaims: those that are missing are made, those that are there are
// never changed.
func claimActions(s seen) []claimAction {
	var actions []claimAction
	for i := range s.sandbox.Spec.VolumeClaimTemplates {
		template := s.sandbox.Spec.VolumeClaimTemplates[i]
		if slices.ContainsFunc(s.sandbox.Spec.VolumeClaimTemplates[:i], isNamed(template.Metadata.Name)) {
			actions = append(actions, claimAction{refused: invalidSpec(fmt.Sprintf(
				"spec.volumeClaimTemplates[%d].metadata.name %q: another template has that name; choose another", i, template.Metadata.Name))})
			continue
		}
		claim := s.claims[claimName(template, s.sandbox)]
		switch {
		case claim == nil:
			actions = append(actions, claimAction{create: desiredClaim(template, s.sandbox)})
		case isOurs(claim, s.sandbox) && claim.DeletionTimestamp == nil:
		case mayAdopt(claim, s.sandbox) && s.foreignPod != nil && !mayAdopt(s.foreignPod, s.sandbox):
			// That Pod may use it, and the Sandbox could not go before the Pod.
		case mayAdopt(claim, s.sandbox):
			actions = append(actions, claimAction{adopt: adoptClaim(claim, s.sandbox)})
		case onItsWayOut(claim, s.sandbox) && s.pod() != nil:
		case onItsWayOut(claim, s.sandbox):
			actions = append(actions, claimAction{refused: leavingClaim(claim.Name)})
		default:
			actions = append(actions, claimAction{refused: refuse("PersistentVolumeClaim", claim)})
		}
	}
	return actions
}

func isNamed(name string) func(sandboxv1beta1.PersistentVolumeClaimTemplate) bool {
	return func(t sandboxv1beta1.PersistentVolumeClaimTemplate) bool { return t.Metadata.Name == name }
}

// leavingClaim holds the Pod back: made now, it would be bound to a disk that is about to go.
func leavingClaim(claim string) error {
	return awaited("PersistentVolumeClaim \"" + claim + "\" is being deleted: the Pod is made once it is gone and made anew")
}

func adoptClaim(claim *corev1.PersistentVolumeClaim, sandbox *sandboxv1beta1.Sandbox) *metadataPatch {
	return &metadataPatch{name: claim.Name, metadata: apply.Metadata{
		UID:             claim.UID,
		ResourceVersion: claim.ResourceVersion,
		Labels:          apply.Changes(claim.Labels, nameHashLabel(sandbox)),
		OwnerReferences: withController(claim, sandbox),
	}}
}

func desiredClaim(template sandboxv1beta1.PersistentVolumeClaimTemplate, sandbox *sandboxv1beta1.Sandbox) *corev1.PersistentVolumeClaim {
	labels := metadataRules().Unreserved(template.Metadata.Labels)
	maps.Copy(labels, nameHashLabel(sandbox))
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:            claimName(template, sandbox),
			Namespace:       sandbox.Namespace,
			Labels:          labels,
			Annotations:     metadataRules().Unreserved(template.Metadata.Annotations),
			OwnerReferences: []metav1.OwnerReference{controllerRef(sandbox)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}

func claimName(template sandboxv1beta1.PersistentVolumeClaimTemplate, sandbox *sandboxv1beta1.Sandbox) string {
	return template.Metadata.Name + "-" + sandbox.Name
}

func nameHashLabel(sandbox *sandboxv1beta1.Sandbox) map[string]string {
	return map[string]string{sandboxv1beta1.LabelSandboxNameHash: names.Hash(sandbox.Name)}
}
