//go:build node

package node_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

func TestTheChartOnARealNode(t *testing.T) {
	namespace := newNamespace(t)
	shell := newShell(t)
	helm := func(args ...string) string {
		t.Helper()
		return shell.must("helm " + strings.Join(args, " "))
	}
	reinstalled(t)
	inNamespace := []string{"agent-sandbox", "release/chart", "--namespace", install.Namespace, "--wait", "--timeout=2m"}
	claim := served(t, namespace, "claimed", underGVisor)
	pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, podOf(claim))}
	first := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]())
	started := lives(t, namespace)[first.Name+" "+string(first.UID)]
	isKept := func(when string) {
		t.Helper()
		if again := fixture.Must(t, user, claim, await.Served()); podOf(again) != podOf(claim) {
			t.Errorf("%s: the claim has Sandbox %s, and had %s", when, podOf(again), podOf(claim))
		}
		if now := lives(t, namespace)[first.Name+" "+string(first.UID)]; now != started {
			t.Errorf("%s: the containers of its Pod were started %d times, before that %d", when, now, started)
		}
	}

	t.Log(helm(append([]string{"install", "--set", "extensions.enabled=true", "--take-ownership", "--force-conflicts"}, inNamespace...)...))
	isKept("taken over from the assets")
	helm(append([]string{
		"upgrade", "--reset-then-reuse-values", "--force-conflicts", "--set", "core.replicas=2", "--set", "extensions.replicas=2",
	}, inNamespace...)...)
	isKept("upgraded")
	served(t, namespace, "upgraded")

	helm("uninstall", "agent-sandbox", "--namespace", install.Namespace, "--wait")
	// Nobody looks after it, and it runs on.
	mustProbe(t, namespace, first.Name, "host")
	helm(append([]string{"install", "--set", "extensions.enabled=true"}, inNamespace...)...)
	isKept("installed again")

	removeAll(t, shell)
	fixture.MustBeGone(t, user, pod)
	helm(append([]string{"install", "--set", "extensions.enabled=true", "--create-namespace"}, inNamespace...)...)
	mustKubectl(t, "label", "namespace", install.Namespace, "pod-security.kubernetes.io/enforce=restricted")
	served(t, namespace, "fresh")
	removeAll(t, shell)
}

// removeAll does what docs/helm.md says.
func removeAll(t *testing.T, shell shell) {
	t.Helper()
	mustKubectl(t, "delete", "sandboxclaims,sandboxwarmpools,sandboxtemplates,sandboxes", "--all", "--all-namespaces", "--timeout=1m")
	shell.must("helm uninstall agent-sandbox --wait --namespace " + install.Namespace)
	mustKubectl(t, "delete", "crd", "sandboxes.agents.x-k8s.io", "sandboxclaims.extensions.agents.x-k8s.io",
		"sandboxtemplates.extensions.agents.x-k8s.io", "sandboxwarmpools.extensions.agents.x-k8s.io")
	mustKubectl(t, "delete", "namespace", install.Namespace)
}
