//go:build node

package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/images"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// disk is where withDisk mounts the disk.
const disk = "/data"

// kubectl runs kubectl as the administrator and returns what it prints.
func kubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	output, err := cluster.Kubectl(context.WithoutCancel(t.Context()), args...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

func mustKubectl(t testing.TB, args ...string) string {
	t.Helper()
	output, err := kubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// probe runs the probe in a Pod.
func probe(t testing.TB, namespace, pod string, args ...string) (string, error) {
	t.Helper()
	return kubectl(t, append([]string{"-n", namespace, "exec", pod, "--", "/probe"}, args...)...)
}

func mustProbe(t testing.TB, namespace, pod string, args ...string) string {
	t.Helper()
	output, err := probe(t, namespace, pod, args...)
	if err != nil {
		t.Fatalf("probe %s in %s: %v\n%s", strings.Join(args, " "), pod, err, output)
	}
	return output
}

// box describes a Sandbox that serves on port 8080, as a user without rights; modify changes it further.
func box(namespace, name string, modify ...func(*sandboxv1beta1.Sandbox)) *sandboxv1beta1.Sandbox {
	return fixture.Sandbox(namespace, name, append([]func(*sandboxv1beta1.Sandbox){serving}, modify...)...)
}

func serving(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec = servingPod() }

func servingPod() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](2),
		AutomountServiceAccountToken:  ptr.To(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "main", Image: images.Probe, ImagePullPolicy: corev1.PullNever, Args: []string{"serve", ":8080"},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
			},
		}},
	}
}

// withDisk adds a disk that outlives the Pod, and mounts it.
func withDisk(s *sandboxv1beta1.Sandbox) {
	fixture.WithDisk(s)
	container := &s.Spec.PodTemplate.Spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: fixture.DiskTemplate, MountPath: disk})
}

// running has the container run another command of the probe.
func running(args ...string) func(*sandboxv1beta1.Sandbox) {
	return func(s *sandboxv1beta1.Sandbox) { s.Spec.PodTemplate.Spec.Containers[0].Args = args }
}

// bystander makes a Pod of no Sandbox, which serves, and waits until it does.
func bystander(t testing.TB, namespace, name string, labels map[string]string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, name), Spec: servingPod()}
	pod.Labels = labels
	fixture.Create(t, user, pod)
	return fixture.Must(t, user, pod, func(seen *corev1.Pod) string {
		for _, condition := range podConditions(seen) {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return ""
			}
		}
		return "it is not ready"
	})
}

func podConditions(pod *corev1.Pod) []corev1.PodCondition {
	if pod == nil {
		return nil
	}
	return pod.Status.Conditions
}

// eventually tries for as long as a node may need to catch up.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	const patience = 60 * time.Second
	testkit.EventuallyWithin(t, patience, what, try)
}
