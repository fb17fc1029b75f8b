package chaos

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/chaos/schedule"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// attempt is an annotation of claims that says for the how many-th time its user made one of that name.
const attempt = "chaos.example.com/attempt"

// template is what pools make their members from.
type template struct {
	name          string
	service, disk bool
}

func templates() []template {
	return []template{{name: "plain"}, {name: "served", service: true}, {name: "stored", disk: true}}
}

// pool is a warm pool, whose size users set to most at most.
type pool struct {
	name, template string
	strategy       extensionsv1beta1.UpdateStrategyType
	replicas, most int32
}

func pools() []pool {
	return []pool{
		{"large", "plain", extensionsv1beta1.UpdateStrategyOnReplenish, 20, 25},
		{"middle", "served", extensionsv1beta1.UpdateStrategyRecreate, 8, 12},
		{"small", "stored", extensionsv1beta1.UpdateStrategyRecreate, 3, 5},
		{"other", "plain", extensionsv1beta1.UpdateStrategyRecreate, 5, 10},
		{"none", "served", extensionsv1beta1.UpdateStrategyOnReplenish, 0, 0},
	}
}

// desiredTemplate lets claims set what they like. Its Pods end at once and by their UIDs: another of the name may follow.
func desiredTemplate(namespace string, t template) *extensionsv1beta1.SandboxTemplate {
	shape := schedule.Shape{Disk: t.disk, Service: t.service}
	sandbox := desiredSandbox(namespace, t.name, shape, time.Time{})
	object := fixture.Template(namespace, t.name)
	object.Spec.PodTemplate = sandbox.Spec.PodTemplate
	object.Spec.VolumeClaimTemplates = sandbox.Spec.VolumeClaimTemplates
	object.Spec.Service = ptr.To(t.service)
	object.Spec.EnvVarsInjectionPolicy = extensionsv1beta1.EnvVarsOverrides
	object.Spec.VolumeClaimTemplatesPolicy = extensionsv1beta1.VolumeClaimTemplatesOverrides
	object.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
	return object
}

// editOfTemplate is a change that makes members stale.
func editOfTemplate(at time.Duration) string {
	return fmt.Sprintf(`{"spec":{"podTemplate":{"spec":{"containers":[{"name":"main","image":"registry.k8s.io/pause:3.10",`+
		`"ports":[{"containerPort":8080}],"env":[{"name":"EDITED","value":%q}]}]}}}}`, at.String())
}

// desiredClaim is a claim of that shape, created now.
func desiredClaim(namespace, name, pool string, shape schedule.ClaimShape, now time.Time) *extensionsv1beta1.SandboxClaim {
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, name)}
	claim.Spec.WarmPoolRef.Name = pool
	if shape.Env {
		claim.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "CLAIM", Value: name}}
	}
	if shape.Disk {
		var sandbox sandboxv1beta1.Sandbox
		fixture.WithDisk(&sandbox)
		claim.Spec.VolumeClaimTemplates = sandbox.Spec.VolumeClaimTemplates
	}
	if shape.Shutdown > 0 {
		claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{
			ShutdownTime: ptr.To(metav1.NewTime(now.Add(shape.Shutdown))), ShutdownPolicy: shape.Policy,
		}
	}
	return claim
}
