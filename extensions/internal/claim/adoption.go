package claim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/apply"
)

// adoption is the patch that makes a member of a pool the claim's: its controller changes and its labels with it, the leave to
// evict it goes, other owners stay, the spec is not touched but for metadata that the claim adds to the Pod's. It fails unless the
// Sandbox is the one that was seen, still the pool's, and not being deleted: no write of a status stands in its way.
func adoption(s seen, member *sandboxv1beta1.Sandbox, pool types.UID) ([]byte, error) {
	at := slices.IndexFunc(member.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == pool })
	if at < 0 {
		return nil, fmt.Errorf("sandbox %q does not name its pool among its owners", member.Name)
	}
	owner := "/metadata/ownerReferences/" + strconv.Itoa(at)
	patch := []apply.Operation{
		apply.Test("/metadata/uid", member.UID),
		apply.Test(owner+"/uid", pool),
		apply.Test("/metadata/deletionTimestamp", nil),
		apply.Replace(owner, controllerRef(s.claim)),
	}
	if _, evictable := member.Annotations[sandboxv1beta1.AnnotationSafeToEvict]; evictable {
		patch = append(patch, apply.Remove(apply.Key("/metadata/annotations", sandboxv1beta1.AnnotationSafeToEvict)))
	}
	if s.trace != "" && member.Annotations != nil {
		patch = append(patch, apply.Set(apply.Key("/metadata/annotations", sandboxv1beta1.AnnotationTraceContext), s.trace))
	}
	patch = append(patch, adoptedLabels(member, s.claim)...)
	patch = append(patch, additions(s, member)...)
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the adoption of Sandbox %q: %w", member.Name, err)
	}
	return raw, nil
}

// adoptedLabels turns the labels of a pool's member into those of a claim's Sandbox.
func adoptedLabels(member *sandboxv1beta1.Sandbox, claim *extensionsv1beta1.SandboxClaim) []apply.Operation {
	const labels = "/metadata/labels"
	set := map[string]string{sandboxv1beta1.LabelClaimUID: string(claim.UID), sandboxv1beta1.LabelLaunchType: sandboxv1beta1.LaunchTypeWarm}
	gone := []string{sandboxv1beta1.LabelWarmPool, extensionsv1beta1.LabelTemplateHash, extensionsv1beta1.LabelPodTemplateHash}
	if creator := blueprint.CreatedBy(claim); creator != "" {
		set[sandboxv1beta1.LabelCreatedBy] = creator
	} else {
		gone = append(gone, sandboxv1beta1.LabelCreatedBy)
	}
	var changes []apply.Operation
	if member.Labels == nil {
		changes = append(changes, apply.Set(labels, map[string]string{}))
	}
	for _, key := range []string{sandboxv1beta1.LabelClaimUID, sandboxv1beta1.LabelLaunchType, sandboxv1beta1.LabelCreatedBy} {
		if value := set[key]; value != "" && member.Labels[key] != value {
			changes = append(changes, apply.Set(apply.Key(labels, key), value))
		}
	}
	for _, key := range gone {
		if _, there := member.Labels[key]; there {
			changes = append(changes, apply.Remove(apply.Key(labels, key)))
		}
	}
	return changes
}
