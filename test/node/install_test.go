//go:build node

package node_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

func controllers() []string { return []string{install.CoreController, install.ExtensionsController} }

// available wants a Deployment to have so many replicas that work.
func available(replicas int32) await.Want[*appsv1.Deployment] {
	return func(seen *appsv1.Deployment) string {
		if seen == nil || seen.Status.ObservedGeneration != seen.Generation || seen.Status.AvailableReplicas != replicas ||
			seen.Status.Replicas != replicas || seen.Status.UpdatedReplicas != replicas {
			return "not all of its replicas are available"
		}
		return ""
	}
}

func TestTwoReplicasOfWhichOneLeads(t *testing.T) {
	namespace := newNamespace(t)
	for _, name := range controllers() {
		mustKubectl(t, "-n", install.Namespace, "scale", "deployment", name, "--replicas=2")
		t.Cleanup(func() { mustKubectl(t, "-n", install.Namespace, "scale", "deployment", name, "--replicas=1") })
		fixture.Must(t, user, &appsv1.Deployment{ObjectMeta: fixture.Named(install.Namespace, name)}, available(2))
	}
	for _, name := range controllers() {
		lease := &coordinationv1.Lease{ObjectMeta: fixture.Named(install.Namespace, install.LeaseOf(name))}
		before := leader(t, lease)
		// As a node that is drained does.
		mustKubectl(t, "-n", install.Namespace, "delete", "pod", before, "--wait=false")
		fixture.Must(t, user, lease, func(seen *coordinationv1.Lease) string {
			if now := podOfHolder(seen); now == "" || now == before {
				return "its holder is " + now
			}
			return ""
		})
		fixture.Must(t, user, &appsv1.Deployment{ObjectMeta: fixture.Named(install.Namespace, name)}, available(2))
	}
	served(t, namespace, "after")
}

func leader(t *testing.T, lease *coordinationv1.Lease) string {
	t.Helper()
	return podOfHolder(fixture.Must(t, user, lease, func(seen *coordinationv1.Lease) string {
		if podOfHolder(seen) == "" {
			return "it has no holder"
		}
		return ""
	}))
}

// TestOurPodsAreRestricted: the namespace enforces the strictest of the Pod Security Standards, and no Pod has more than it needs.
func TestOurPodsAreRestricted(t *testing.T) {
	newNamespace(t)
	namespace := &corev1.Namespace{}
	if err := user.Get(t.Context(), client.ObjectKey{Name: install.Namespace}, namespace); err != nil {
		t.Fatal(err)
	}
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Errorf("the namespace enforces %q", level)
	}
	pods := &corev1.PodList{}
	if err := user.List(t.Context(), pods, client.InNamespace(install.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) < len(controllers()) {
		t.Errorf("there are %d Pods", len(pods.Items))
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "real-0" {
			t.Errorf("Pod %s is on node %q, which is not real", pod.Name, pod.Spec.NodeName)
		}
	}
}

// podOfHolder is the Pod that holds a Lease: a controller's identity is its hostname and a UUID.
func podOfHolder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return name
}
