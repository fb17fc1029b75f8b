//go:build node

package node_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

func TestASandboxKeepsItsName(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "box", fixture.WithService)
	pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, sandbox.Name)}
	fixture.Create(t, user, sandbox)
	bystander(t, namespace, "other", nil)

	isReached := func(when string) {
		t.Helper()
		seen := fixture.Must(t, user, sandbox, await.Ready())
		if name := mustProbe(t, namespace, sandbox.Name, "host"); name != sandbox.Name {
			t.Errorf("%s: its hostname is %s", when, name)
		}
		name := fmt.Sprintf("%s.%s.svc.cluster.local", sandbox.Name, namespace)
		eventually(t, when+": its DNS name leads to its Pod", func() error {
			got, err := probe(t, namespace, "other", "lookup", name)
			if want := seen.Status.PodIPs[0]; err == nil && got != want {
				err = fmt.Errorf("%s is %s, want %s", name, got, want)
			}
			return err
		})
		if got := mustProbe(t, namespace, "other", "get", "http://"+name+":8080/hello"); got != sandbox.Name+" GET /hello" {
			t.Errorf("%s: it answers %q", when, got)
		}
	}
	isReached("at first")
	first := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]())
	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended })
	fixture.Must(t, user, sandbox, await.Suspended())
	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
	isReached("resumed")

	resumed := fixture.Must(t, user, pod, await.Exists[*corev1.Pod]())
	if err := user.Delete(t.Context(), resumed); err != nil {
		t.Fatal(err)
	}
	fixture.Must(t, user, pod, another(resumed))
	isReached("after its Pod was lost")
	if resumed.UID == first.UID {
		t.Error("it was never suspended: its Pod is the first")
	}
}

// another wants a Pod that is not the one given.
func another(than *corev1.Pod) await.Want[*corev1.Pod] {
	return func(seen *corev1.Pod) string {
		if seen == nil || seen.UID == than.UID {
			return "there is no other Pod yet"
		}
		return ""
	}
}

func TestADiskOutlivesItsPod(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "box", withDisk)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: fixture.Named(namespace, fixture.DiskTemplate+"-"+sandbox.Name)}
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	mustProbe(t, namespace, sandbox.Name, "write", disk+"/note", "before")
	mustProbe(t, namespace, sandbox.Name, "write", "/tmp/note", "before")

	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeSuspended })
	fixture.Must(t, user, sandbox, await.Suspended())
	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) { s.Spec.OperatingMode = sandboxv1beta1.OperatingModeRunning })
	fixture.Must(t, user, sandbox, await.Ready())
	if got := mustProbe(t, namespace, sandbox.Name, "read", disk+"/note"); got != "before" {
		t.Errorf("the file on the disk says %q", got)
	}
	if got, err := probe(t, namespace, sandbox.Name, "read", "/tmp/note"); err == nil {
		t.Errorf("a file beside the disk outlived the Pod: %s", got)
	}
	volume := fixture.Must(t, user, claim, await.Bound()).Spec.VolumeName
	if err := user.Delete(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
	fixture.MustBeGone(t, user, claim)
	fixture.MustBeGone(t, user, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}})
}

func TestADiskIsKeptByARetainedExpiry(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "box", withDisk)
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	mustProbe(t, namespace, sandbox.Name, "write", disk+"/note", "before")
	fixture.MustEdit(t, user, sandbox, func(s *sandboxv1beta1.Sandbox) {
		now := metav1.NewTime(time.Now())
		s.Spec.ShutdownTime, s.Spec.ShutdownPolicy = &now, sandboxv1beta1.ShutdownPolicyRetain
	})
	fixture.Must(t, user, sandbox, await.Condition(sandboxv1beta1.ConditionReady, metav1.ConditionFalse, sandboxv1beta1.ReasonSandboxExpired))
	fixture.MustBeGone(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, sandbox.Name)})

	diskSays(t, namespace, sandbox.Name, "before")
}

// diskSays has a Pod of somebody else read the note on the disk that a Sandbox without a Pod has left.
func diskSays(t *testing.T, namespace, sandbox, want string) {
	t.Helper()
	reader := &corev1.Pod{ObjectMeta: fixture.Named(namespace, sandbox+"-reader"), Spec: servingPod()}
	reader.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "disk", MountPath: disk}}
	reader.Spec.Volumes = []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fixture.DiskTemplate + "-" + sandbox},
	}}}
	fixture.Create(t, user, reader)
	eventually(t, "the note is on the disk", func() error {
		got, err := probe(t, namespace, reader.Name, "read", disk+"/note")
		if err == nil && got != want {
			err = fmt.Errorf("it says %q", got)
		}
		return err
	})
}
