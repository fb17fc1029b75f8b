//go:build node

package node_test

import (
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// restart ends components as a crash would, and starts them again.
func restart(t *testing.T, components ...string) {
	t.Helper()
	for _, name := range components {
		if err := cluster.Kill(t.Context(), name, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	again, err := devcluster.Up(t.Context(), options)
	if err != nil {
		t.Errorf("starting again what was killed: %v", err)
		again, err = devcluster.Up(t.Context(), options) // For the tests after this one.
	}
	if err != nil {
		t.Fatal(err)
	}
	cluster = again
}

func TestSandboxesOutliveARestart(t *testing.T) {
	for name, components := range map[string][]string{
		"of the node's daemons":      {devcluster.Kubelet, devcluster.Containerd, devcluster.KubeProxy, devcluster.KubeRouter},
		"of the control plane":       {devcluster.APIServer, devcluster.Etcd, devcluster.ControllerManager, devcluster.Scheduler},
		"of everything, all at once": devcluster.ComponentNames(),
	} {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t)
			sandbox := box(namespace, "box", withDisk, fixture.WithService)
			pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, sandbox.Name)}
			fixture.Create(t, user, sandbox)
			fixture.Must(t, user, sandbox, await.Ready())
			claim := served(t, namespace, "claimed", underGVisor)
			mustProbe(t, namespace, sandbox.Name, "write", disk+"/note", "before")
			first := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]())

			restart(t, components...)
			fixture.Must(t, user, sandbox, await.Ready())
			eventually(t, "what was written is there", func() error {
				_, err := probe(t, namespace, sandbox.Name, "read", disk+"/note")
				return err
			})
			again := fixture.Must(t, user, claim, await.Served())
			if podOf(again) != podOf(claim) {
				t.Errorf("the claim has Sandbox %s, and had %s", podOf(again), podOf(claim))
			}
			if now := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]()); now.UID != first.UID {
				t.Error("the Pod was replaced")
			}
			served(t, namespace, "after")
		})
	}
}
