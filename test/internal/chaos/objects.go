package chaos

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// desiredSandbox is a Sandbox of that shape, created now.
func desiredSandbox(namespace, name string, shape schedule.Shape, now time.Time) *sandboxv1beta1.Sandbox {
	sandbox := fixture.Sandbox(namespace, name)
	spec := &sandbox.Spec
	spec.PodTemplate.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
	// The annotation of a Pod can change when another Sandbox takes it over, its grace period cannot.
	spec.PodTemplate.Spec.TerminationGracePeriodSeconds = ptr.To(max(1, shape.GraceSeconds))
	spec.PodTemplate.Metadata.Annotations = map[string]string{devcluster.TerminateAnnotation: devcluster.TerminateAtOnce}
	if shape.GraceSeconds > 0 {
		spec.PodTemplate.Metadata.Annotations[devcluster.TerminateAnnotation] = devcluster.TerminateSlowly
	}
	if shape.Disk {
		fixture.WithDisk(sandbox)
	}
	if shape.Service {
		fixture.WithService(sandbox)
	}
	if shape.Suspended {
		spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended
	}
	if shape.Shutdown > 0 {
		spec.ShutdownTime = ptr.To(metav1.NewTime(now.Add(shape.Shutdown)))
		spec.ShutdownPolicy = shape.Policy
	}
	return sandbox
}
