//go:build node

package node_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// The assets of a release.
const (
	coreAsset       = "sandbox.yaml"
	extensionsAsset = "extensions.yaml"
)

// ours selects every object of an install.
const ours = "app.kubernetes.io/part-of=agent-sandbox"

func assetOf(release, name string) string { return filepath.Join(release, name) }

// now is where the assets of the present release are.
func now() string { return filepath.Join(root, "release", "testdata") }

// apply installs an asset, and waits for all of ours.
func apply(t *testing.T, release, asset string) {
	t.Helper()
	mustKubectl(t, "apply", "-f", assetOf(release, asset))
	rolledOut(t)
}

// rolledOut waits for the Deployments of ours that there are.
func rolledOut(t *testing.T) {
	t.Helper()
	mustKubectl(t, "-n", install.Namespace, "rollout", "status", "deployment", "--timeout=2m")
}

// remove does what the README says.
func remove(t *testing.T, asset string) {
	t.Helper()
	mustKubectl(t, "delete", "--ignore-not-found", "--timeout=2m", "-f", assetOf(now(), asset))
}

// reinstalled makes sure that the tests to come find all in place.
func reinstalled(t *testing.T) {
	t.Cleanup(func() {
		apply(t, now(), coreAsset)
		apply(t, now(), extensionsAsset)
	})
}

func TestTheExtensionsComeAndGoBesideTheCore(t *testing.T) {
	namespace := newNamespace(t)
	reinstalled(t)
	kept := box(namespace, "kept", withDisk)
	fixture.Create(t, user, kept)
	fixture.Must(t, user, kept, await.Ready())
	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, kept.Name)}, await.Exists[*corev1.Pod]())
	claimed := &corev1.Pod{ObjectMeta: fixture.Named(namespace, podOf(served(t, namespace, "gone")))}

	remove(t, extensionsAsset)
	// With their CRDs go the objects, and with these what they own.
	fixture.MustBeGone(t, user, claimed)
	if err := user.List(t.Context(), &extensionsv1beta1.SandboxClaimList{}); err == nil {
		t.Error("claims are served by the API server yet")
	}
	if again := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]()); again.UID != pod.UID {
		t.Error("the Pod of a Sandbox was replaced")
	}
	fresh := box(namespace, "fresh")
	fixture.Create(t, user, fresh)
	fixture.Must(t, user, fresh, await.Ready())

	apply(t, now(), extensionsAsset)
	served(t, namespace, "again")
}

func TestTheCoreGoesBeforeTheExtensions(t *testing.T) {
	namespace := newNamespace(t)
	reinstalled(t)
	sandbox := box(namespace, "gone")
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	served(t, namespace, "gone-too")

	remove(t, coreAsset)
	fixture.MustBeGone(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, sandbox.Name)})
	remove(t, extensionsAsset)
	left := mustKubectl(t, "get", "crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,namespace", "-l", ours, "-o", "name")
	if left = strings.TrimSpace(left); left != "" && left != "No resources found" {
		t.Errorf("left:\n%s", left)
	}
	eventually(t, "every Pod is gone", func() error {
		_, err := kubectl(t, "-n", namespace, "wait", "--for=delete", "pod", "--all", "--timeout=1s")
		return err
	})

	apply(t, now(), coreAsset)
	apply(t, now(), extensionsAsset)
	served(t, namespace, "again")
}
