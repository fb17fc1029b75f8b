package sandbox

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
)

var testNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func sandboxWith(modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	sandbox := &sandboxv1beta1.Sandbox{
		ObjectMeta: metav1.ObjectMeta{Name: "box", Namespace: "ns", UID: "uid-box", Generation: 3, ResourceVersion: "30"},
		Spec: sandboxv1beta1.SandboxSpec{
			PodTemplate:    sandboxv1beta1.PodTemplate{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1"}}}},
			OperatingMode:  sandboxv1beta1.OperatingModeRunning,
			ShutdownPolicy: sandboxv1beta1.ShutdownPolicyRetain,
		},
	}
	for _, change := range modify {
		change(sandbox)
	}
	return sandbox
}

func suspended(s *sandboxv1beta1.Sandbox) {
	s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended
}

func service(wanted bool) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Spec.Service = ptr.To(wanted) }
}

func shutdownAt(at time.Time, policy sandboxv1beta1.ShutdownPolicy) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Spec.ShutdownTime = &metav1.Time{Time: at}
		s.Spec.ShutdownPolicy = policy
	}
}

func disk(name string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) {
		s.Spec.VolumeClaimTemplates = append(s.Spec.VolumeClaimTemplates, sandboxv1beta1.PersistentVolumeClaimTemplate{
			Metadata: sandboxv1beta1.EmbeddedObjectMetadata{Name: name, Labels: map[string]string{"tier": "data"}, Annotations: map[string]string{"note": "kept"}},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		})
	}
}

func storedCondition(condition metav1.Condition) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Status.Conditions = append(s.Status.Conditions, condition) }
}

func owned(by types.UID, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "agents.x-k8s.io/v1beta1", Kind: "Sandbox", Name: name, UID: by,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
}

// runningPod is the Pod of sandboxWith(), as the controller makes it and a kubelet runs it.
func runningPod(modify ...func(*corev1.Pod)) *corev1.Pod {
	pod := desiredPod(seen{sandbox: sandboxWith(), specHash: "hash"})
	pod.UID, pod.ResourceVersion = "uid-pod", "40"
	pod.Spec.NodeName = "node-1"
	pod.Status = corev1.PodStatus{
		Phase:  corev1.PodRunning,
		PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		},
	}
	for _, change := range modify {
		change(pod)
	}
	return pod
}

func onWayOut(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: testNow} }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func unowned(p *corev1.Pod) { p.OwnerReferences = nil }

func unlabelled(p *corev1.Pod) { p.Labels = nil }

func ownService(modify ...func(*corev1.Service)) *corev1.Service {
	made := desiredService(sandboxWith())
	made.UID, made.ResourceVersion = "uid-service", "50"
	for _, change := range modify {
		change(made)
	}
	return made
}

func seenWith(sandbox *sandboxv1beta1.Sandbox, modify ...func(*seen)) seen {
	s := seen{now: testNow, sandbox: sandbox, specHash: "hash", claims: map[string]*corev1.PersistentVolumeClaim{}}
	for _, change := range modify {
		change(&s)
	}
	return s
}

func withPods(pods ...*corev1.Pod) func(*seen) { return func(s *seen) { s.pods = pods } }

func withForeignPod(pod *corev1.Pod) func(*seen) { return func(s *seen) { s.foreignPod = pod } }

func withService(made *corev1.Service) func(*seen) { return func(s *seen) { s.service = made } }

func withClaim(claim *corev1.PersistentVolumeClaim) func(*seen) {
	return func(s *seen) { s.claims[claim.Name] = claim }
}

// boxHash is the name hash of sandboxWith().
func boxHash() string { return names.Hash("box") }
