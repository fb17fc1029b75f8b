//go:build node

package node_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// runtimeClass is that of gVisor.
const runtimeClass = "gvisor"

// served makes a template, a pool of it and a claim, and returns the claim once it has its Sandbox; modify changes the template.
func served(t testing.TB, namespace, name string, modify ...func(*extensionsv1beta1.SandboxTemplate)) *extensionsv1beta1.SandboxClaim {
	t.Helper()
	pool := filled(t, namespace, name, 1, modify...)
	claim := fixture.Claim(pool, name)
	fixture.Create(t, user, claim)
	return fixture.Must(t, user, claim, await.Served())
}

// filled makes a template and a pool of it, and returns the pool once it is full.
func filled(t testing.TB, namespace, name string, replicas int32, modify ...func(*extensionsv1beta1.SandboxTemplate)) *extensionsv1beta1.SandboxWarmPool {
	t.Helper()
	template := fixture.Template(namespace, name)
	template.Spec.PodTemplate.Spec = servingPod()
	for _, m := range modify {
		m(template)
	}
	pool := fixture.Pool(template, name, replicas)
	fixture.Create(t, user, template)
	fixture.Create(t, user, pool)
	fixture.Must(t, user, pool, await.Members(replicas))
	return pool
}

func underGVisor(template *extensionsv1beta1.SandboxTemplate) {
	template.Spec.PodTemplate.Spec.RuntimeClassName = ptr.To(runtimeClass)
}

func unmanaged(template *extensionsv1beta1.SandboxTemplate) {
	template.Spec.NetworkPolicyManagement = extensionsv1beta1.NetworkPolicyUnmanaged
}

// podOf returns the name of the Pod that a claim has.
func podOf(claim *extensionsv1beta1.SandboxClaim) string { return claim.Status.Sandbox.Name }

func TestAClaimedPodHasTheKernelOfItsRuntime(t *testing.T) {
	namespace := newNamespace(t)
	own, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	machine := strings.TrimSpace(string(own))
	apart := mustProbe(t, namespace, podOf(served(t, namespace, "apart", underGVisor)), "kernel")
	if !strings.Contains(apart, "gvisor") || apart == machine {
		t.Errorf("under gVisor the kernel says %q, the machine's %q", apart, machine)
	}
	if shared := mustProbe(t, namespace, podOf(served(t, namespace, "shared")), "kernel"); shared != machine {
		t.Errorf("without gVisor the kernel says %q, the machine's %q", shared, machine)
	}
}

func TestAClaimedPodHasNoTokenOfAServiceAccount(t *testing.T) {
	namespace := newNamespace(t)
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	asks := func(template *extensionsv1beta1.SandboxTemplate) {
		template.Spec.PodTemplate.Spec.AutomountServiceAccountToken = nil
	}
	pod := podOf(served(t, namespace, "box", asks))
	if got, err := probe(t, namespace, pod, "read", token); err == nil || !strings.Contains(got, "no such file") {
		t.Errorf("reading the token gives %v: %s", err, got)
	}
	// Any other Pod that does not say otherwise has one.
	other := &corev1.Pod{ObjectMeta: fixture.Named(namespace, "other"), Spec: servingPod()}
	other.Spec.AutomountServiceAccountToken = nil
	fixture.Create(t, user, other)
	eventually(t, "another Pod has a token", func() error {
		_, err := probe(t, namespace, other.Name, "read", token)
		return err
	})
}

func TestAClaimWithAnEnvironmentStartsCold(t *testing.T) {
	namespace := newNamespace(t)
	pool := filled(t, namespace, "box", 1, func(template *extensionsv1beta1.SandboxTemplate) {
		template.Spec.EnvVarsInjectionPolicy = extensionsv1beta1.EnvVarsAllowed
	})
	claim := fixture.Claim(pool, "cold")
	claim.Spec.Env = []extensionsv1beta1.EnvVar{{Name: "SESSION", Value: "one"}}
	fixture.Create(t, user, claim)
	seen := fixture.Must(t, user, claim, await.Served())
	if podOf(seen) != claim.Name {
		t.Errorf("its Sandbox is %s: a warm one has another environment", podOf(seen))
	}
	environment := mustProbe(t, namespace, podOf(seen), "read", "/proc/self/environ")
	if !strings.Contains(environment, "SESSION=one") {
		t.Errorf("the environment of its Pod is %q", environment)
	}
	fixture.Must(t, user, claim, await.ClaimCondition(extensionsv1beta1.ConditionColdStart, "True", extensionsv1beta1.ReasonEnvRequested))
}
