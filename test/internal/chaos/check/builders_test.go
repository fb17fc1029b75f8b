package check_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/check"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

const (
	namespace = "ns"
	box       = "box"
	boxUID    = types.UID("uid-box")
	diskUID   = types.UID("uid-disk")
)

func now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// running is a case in which all is well: a Sandbox with Service and disk, and its Pod.
func running() *check.Case {
	sandbox := fixture.Sandbox(namespace, box, fixture.WithService, fixture.WithDisk,
		fixture.WithMode(sandboxv1beta1.OperatingModeRunning))
	sandbox.UID, sandbox.Generation = boxUID, 3
	sandbox.Status = sandboxv1beta1.SandboxStatus{
		Service: box, ServiceFQDN: "box.ns.svc.cluster.local", PodIPs: []string{"10.0.0.1"}, NodeName: "node",
		LabelSelector: sandboxv1beta1.LabelSandboxNameHash + "=" + names.Hash(box),
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: "True", Reason: "DependenciesReady", ObservedGeneration: 3},
			{Type: "Suspended", Status: "False", Reason: "NotSuspended", ObservedGeneration: 3},
			{Type: "PodScheduled", Status: "True", Reason: "PodScheduled", ObservedGeneration: 3},
		},
	}
	c := &check.Case{
		Now:      now(),
		Accounts: map[string]*check.Account{box: {Sandbox: sandbox.DeepCopy(), PodEnds: 1}},
		Disks:    check.Disks{boxUID: diskUID},
		World: check.World{
			Sandboxes: []sandboxv1beta1.Sandbox{*sandbox},
			Pods:      []corev1.Pod{*pod(sandbox)},
			Claims:    []corev1.PersistentVolumeClaim{{ObjectMeta: owned(sandbox, "data-box", diskUID)}},
			Services:  []corev1.Service{*service(sandbox)},
		},
	}
	return c
}

func owned(sandbox *sandboxv1beta1.Sandbox, name string, uid types.UID) metav1.ObjectMeta {
	object := fixture.Named(namespace, name)
	object.UID = uid
	object.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(sandbox, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind)),
	}
	return object
}

func labels(sandbox *sandboxv1beta1.Sandbox) map[string]string {
	return map[string]string{
		sandboxv1beta1.LabelSandboxNameHash: names.Hash(sandbox.Name),
		sandboxv1beta1.LabelSandboxUID:      string(sandbox.UID),
	}
}

func pod(sandbox *sandboxv1beta1.Sandbox) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: owned(sandbox, sandbox.Name, "uid-pod")}
	made.Labels = labels(sandbox)
	made.Spec.NodeName = "node"
	made.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}}
	return made
}

func service(sandbox *sandboxv1beta1.Sandbox) *corev1.Service {
	made := &corev1.Service{ObjectMeta: owned(sandbox, sandbox.Name, "uid-service")}
	made.Spec = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: labels(sandbox)}
	return made
}

func sandboxOf(c *check.Case) *sandboxv1beta1.Sandbox { return &c.World.Sandboxes[0] }

// rewrite changes the spec that the user wrote, and that is stored.
func rewrite(c *check.Case, change func(*sandboxv1beta1.SandboxSpec)) {
	change(&sandboxOf(c).Spec)
	change(&c.Accounts[box].Sandbox.Spec)
}

// suspended is a case in which all is well with a suspended Sandbox.
func suspended() *check.Case {
	c := running()
	rewrite(c, func(s *sandboxv1beta1.SandboxSpec) { s.OperatingMode = sandboxv1beta1.OperatingModeSuspended })
	c.World.Pods = nil
	status := &sandboxOf(c).Status
	status.PodIPs, status.NodeName = nil, ""
	status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "SandboxSuspended", ObservedGeneration: 3},
		{Type: "Suspended", Status: "True", Reason: "PodTerminated", ObservedGeneration: 3},
	}
	return c
}

// expired is a case in which all is well with a Sandbox that has expired and is kept.
func expired() *check.Case {
	c := running()
	rewrite(c, func(s *sandboxv1beta1.SandboxSpec) {
		s.ShutdownTime, s.ShutdownPolicy = ptr.To(metav1.NewTime(now())), sandboxv1beta1.ShutdownPolicyRetain
	})
	c.World.Pods, c.World.Services = nil, nil
	sandboxOf(c).Status = sandboxv1beta1.SandboxStatus{Conditions: []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "SandboxExpired", ObservedGeneration: 3},
		{Type: "Suspended", Status: "False", Reason: "NotSuspended", ObservedGeneration: 3},
	}}
	return c
}

// gone is a case in which all is well with a Sandbox that was deleted.
func gone() *check.Case {
	c := running()
	c.World = check.World{}
	c.Accounts[box].Deleted()
	return c
}

// orphaned is a case in which all is well with what a Sandbox left behind.
func orphaned() *check.Case {
	c := running()
	c.World.Sandboxes = nil
	c.World.Pods[0].OwnerReferences = nil
	c.World.Claims[0].OwnerReferences = nil
	c.World.Services[0].OwnerReferences = nil
	c.Accounts[box].LeftBehind(diskUID)
	return c
}
