package sandbox

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/podmeta"
)

// podStep decides about the Pod of a Sandbox that has not expired.
func podStep(s seen) podAction {
	pod := s.pod()
	switch {
	case s.suspended():
		return suspensionStep(s)
	case len(s.pods) > 1:
		return podAction{}
	case pod != nil && isReplaced(pod, s) && !s.now.Before(recreateTime(pod, s.now)):
		return replacement(pod, s)
	case pod != nil:
		return podAction{patch: driftOf(pod, s)}
	case s.foreignPod != nil:
		return foreignPodStep(s)
	case finishedStands(s.sandbox):
		return podAction{}
	default:
		return podAction{create: desiredPod(s)}
	}
}

// suspensionStep deletes our Pods. An orphan that may be ours is taken over first and then deleted as ours: left alone, it
// would go on running on the disks that are taken over too.
func suspensionStep(s seen) podAction {
	if len(s.pods) == 0 && s.foreignPod != nil && mayAdopt(s.foreignPod, s.sandbox) {
		return podAction{patch: adoptPod(s)}
	}
	return podAction{remove: livingPods(s)}
}

// isReplaced says whether the Pod has failed and another is to take its place.
func isReplaced(pod *corev1.Pod, s seen) bool {
	return isRecreated(s.sandbox) && !s.suspended() && podFailed(pod) && pod.DeletionTimestamp == nil
}

// replacement deletes the failed Pod and makes the next one, which counts the failures before it. A Pod of another name is
// only deleted: its successor is made once it is gone, for there are never two at a time.
func replacement(pod *corev1.Pod, s seen) podAction {
	failed := targetOf(pod)
	if pod.Name != s.sandbox.Name {
		return podAction{remove: []target{failed}}
	}
	next := desiredPod(s)
	next.Annotations[sandboxv1beta1.AnnotationPodFailures] = strconv.Itoa(failuresBefore(pod) + 1)
	return podAction{replace: &failed, create: next}
}

func foreignPodStep(s seen) podAction {
	pod := s.foreignPod
	switch {
	case mayAdopt(pod, s.sandbox):
		return podAction{patch: adoptPod(s)}
	case onItsWayOut(pod, s.sandbox):
		return podAction{}
	default:
		return podAction{refused: refuse("Pod", pod)}
	}
}

func adoptPod(s seen) *metadataPatch {
	patch := podMetadataPatch(s.foreignPod, s)
	patch.metadata.ResourceVersion = s.foreignPod.ResourceVersion
	patch.metadata.OwnerReferences = withController(s.foreignPod, s.sandbox)
	return patch
}

// livingPods are the Pods of the Sandbox that nobody has deleted yet.
func livingPods(s seen) []target {
	var living []target
	for _, pod := range s.pods {
		if pod.DeletionTimestamp == nil {
			living = append(living, targetOf(pod))
		}
	}
	return living
}

// driftOf is the patch that brings the metadata of a living Pod in line; nil when it is.
func driftOf(pod *corev1.Pod, s seen) *metadataPatch {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	if patch := podMetadataPatch(pod, s); !patch.metadata.IsEmpty() {
		return patch
	}
	return nil
}

func podMetadataPatch(pod *corev1.Pod, s seen) *metadataPatch {
	current := podmeta.Metadata{Labels: pod.Labels, Annotations: pod.Annotations}
	change := metadataRules().Change(current, podMetadata(s.sandbox, madeWith(pod)))
	change.UID = pod.UID
	return &metadataPatch{name: pod.Name, metadata: change}
}

func metadataRules() podmeta.Rules {
	return podmeta.Rules{
		Reserved:       isReserved,
		LabelsKey:      sandboxv1beta1.AnnotationPropagatedLabels,
		AnnotationsKey: sandboxv1beta1.AnnotationPropagatedAnnotations,
	}
}

// madeWith are the annotations that a Pod got when it was made and keeps.
func madeWith(pod *corev1.Pod) map[string]string {
	made := map[string]string{}
	for _, key := range []string{sandboxv1beta1.AnnotationPodSpecHash, sandboxv1beta1.AnnotationPodFailures} {
		if value, ok := pod.Annotations[key]; ok {
			made[key] = value
		}
	}
	return made
}

// podMetadata is what the Pod of a Sandbox carries, made with those annotations.
func podMetadata(sandbox *sandboxv1beta1.Sandbox, made map[string]string) podmeta.Metadata {
	template := podmeta.Metadata{Labels: sandbox.Spec.PodTemplate.Metadata.Labels, Annotations: inheritedAnnotations(sandbox)}
	labels := inheritedLabels(sandbox)
	maps.Copy(labels, podSelector(sandbox))
	system := podmeta.Metadata{Labels: labels, Annotations: made}
	return metadataRules().Desired(template, system)
}

// podSelector are the labels that the Service selects its Pod by. The hash alone could be another Sandbox's too.
func podSelector(sandbox *sandboxv1beta1.Sandbox) map[string]string {
	return map[string]string{
		sandboxv1beta1.LabelSandboxNameHash: names.Hash(sandbox.Name),
		sandboxv1beta1.LabelSandboxUID:      string(sandbox.UID),
	}
}

func desiredPod(s seen) *corev1.Pod {
	metadata := podMetadata(s.sandbox, map[string]string{sandboxv1beta1.AnnotationPodSpecHash: s.specHash})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            s.sandbox.Name,
			Namespace:       s.sandbox.Namespace,
			Labels:          metadata.Labels,
			Annotations:     metadata.Annotations,
			OwnerReferences: []metav1.OwnerReference{controllerRef(s.sandbox)},
		},
		Spec: *s.sandbox.Spec.PodTemplate.Spec.DeepCopy(),
	}
	for i := range s.sandbox.Spec.VolumeClaimTemplates {
		template := s.sandbox.Spec.VolumeClaimTemplates[i]
		pod.Spec.Volumes = mountClaim(pod.Spec.Volumes, template.Metadata.Name, claimName(template, s.sandbox))
	}
	return pod
}

// mountClaim puts the claim in the place of a volume of that name, or at the end: as a StatefulSet does.
func mountClaim(volumes []corev1.Volume, volume, claim string) []corev1.Volume {
	mounted := corev1.Volume{
		Name: volume,
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		},
	}
	at := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if at < 0 {
		return append(volumes, mounted)
	}
	volumes[at] = mounted
	return volumes
}
