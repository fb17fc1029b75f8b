//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

func TestLifeWithServiceAndDisk(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := fixture.Sandbox(namespace, "box", fixture.WithService, fixture.WithDisk)
	pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, "box")}
	service := &corev1.Service{ObjectMeta: fixture.Named(namespace, "box")}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: fixture.Named(namespace, "data-box")}

	fixture.Create(t, user, sandbox)
	ready := fixture.Must(t, user, sandbox, await.Ready())
	if want := "box." + namespace + ".svc.cluster.local"; ready.Status.ServiceFQDN != want || len(ready.Status.PodIPs) == 0 || ready.Status.NodeName == "" {
		t.Errorf("FQDN %q, IPs %v, node %q: want %s, one IP at least, a node", ready.Status.ServiceFQDN, ready.Status.PodIPs, ready.Status.NodeName, want)
	}
	first := fixture.Must(t, user, claim, await.Bound())

	fixture.MustEdit(t, user, sandbox, fixture.WithMode(sandboxv1beta1.OperatingModeSuspended))
	suspended := fixture.Must(t, user, sandbox, await.Suspended())
	fixture.MustBeGone(t, user, pod)
	fixture.Must(t, user, claim, await.Bound())
	fixture.Must(t, user, service, await.Exists[*corev1.Service]())
	if len(suspended.Status.PodIPs) > 0 {
		t.Errorf("a suspended Sandbox has IPs %v", suspended.Status.PodIPs)
	}

	fixture.MustEdit(t, user, sandbox, fixture.WithMode(sandboxv1beta1.OperatingModeRunning))
	fixture.Must(t, user, sandbox, await.Ready())
	second := fixture.Must(t, user, claim, await.Bound())
	if second.UID != first.UID || second.Spec.VolumeName != first.Spec.VolumeName {
		t.Errorf("PVC UID %s, volume %s after the resume; before %s, %s", second.UID, second.Spec.VolumeName, first.UID, first.Spec.VolumeName)
	}

	if err := user.Delete(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
	fixture.MustBeGone(t, user, sandbox)
	fixture.MustBeGone(t, user, pod)
	fixture.MustBeGone(t, user, claim)
	fixture.MustBeGone(t, user, service)
}

// replaced wants a Pod that has a node and is another one than before.
func replaced(before types.UID) await.Want[*corev1.Pod] {
	return func(seen *corev1.Pod) string {
		if seen != nil && seen.UID == before {
			return "it is still the Pod from before"
		}
		return await.Scheduled()(seen)
	}
}

// readyOn wants a Sandbox that is ready on a node.
func readyOn(node string) await.Want[*sandboxv1beta1.Sandbox] {
	return func(seen *sandboxv1beta1.Sandbox) string {
		if missing := await.Ready()(seen); missing != "" {
			return missing
		}
		if seen.Status.NodeName != node {
			return fmt.Sprintf("its node is %s, not %s", seen.Status.NodeName, node)
		}
		return ""
	}
}

// runningSandbox returns a Sandbox that is ready, and its Pod.
func runningSandbox(t *testing.T) (*sandboxv1beta1.Sandbox, *corev1.Pod) {
	t.Helper()
	sandbox := fixture.Sandbox(newNamespace(t), "box")
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	pod := &corev1.Pod{ObjectMeta: fixture.Named(sandbox.Namespace, sandbox.Name)}
	return sandbox, fixture.Must(t, user, pod, await.Scheduled())
}

func TestDeletedPodIsReplaced(t *testing.T) {
	sandbox, pod := runningSandbox(t)
	if err := user.Delete(t.Context(), pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	next := fixture.Must(t, user, pod, replaced(pod.UID))
	fixture.Must(t, user, sandbox, readyOn(next.Spec.NodeName))
}

func TestDrainedNodeLosesItsSandboxToAnother(t *testing.T) {
	sandbox, pod := runningSandbox(t)
	drained := &corev1.Node{ObjectMeta: fixture.Named("", pod.Spec.NodeName)}
	cordon(t, drained, `{"spec":{"unschedulable":true}}`)
	t.Cleanup(func() { cordon(t, drained, `{"spec":{"unschedulable":null}}`) })
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eviction := &policyv1.Eviction{ObjectMeta: fixture.Named(pod.Namespace, pod.Name)}
	if err := clientset.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatalf("evicting the Pod: %v", err)
	}
	next := fixture.Must(t, user, pod, replaced(pod.UID))
	if next.Spec.NodeName == drained.Name {
		t.Errorf("the new Pod is on the drained node %s", drained.Name)
	}
	fixture.Must(t, user, sandbox, readyOn(next.Spec.NodeName))
}

func cordon(t *testing.T, node *corev1.Node, patch string) {
	t.Helper()
	// t.Context has ended when cleanups run.
	ctx := context.WithoutCancel(t.Context())
	if err := user.Patch(ctx, node.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatalf("patching node %s with %s: %v", node.Name, patch, err)
	}
}

func TestFiftySandboxesAtOnce(t *testing.T) {
	const count = 50
	namespace := newNamespace(t)
	began := time.Now()
	sandboxes := make([]*sandboxv1beta1.Sandbox, count)
	for i := range sandboxes {
		sandboxes[i] = fixture.Sandbox(namespace, fmt.Sprintf("box-%d", i), fixture.WithService)
		fixture.Create(t, user, sandboxes[i])
	}
	owner := map[string]string{}
	for _, sandbox := range sandboxes {
		ready := fixture.Must(t, user, sandbox, await.Ready())
		for _, ip := range ready.Status.PodIPs {
			if other, taken := owner[ip]; taken {
				t.Errorf("%s and %s have the same IP %s", other, sandbox.Name, ip)
			}
			owner[ip] = sandbox.Name
		}
	}
	t.Logf("%d Sandboxes were ready %s after the first was created", count, time.Since(began))
	pods := &corev1.PodList{}
	if err := user.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != count || len(owner) < count {
		t.Errorf("%d Pods with %d IPs, want %d of each", len(pods.Items), len(owner), count)
	}
}
