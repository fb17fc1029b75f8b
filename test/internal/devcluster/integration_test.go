package devcluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
)

func TestClustersSideBySide(t *testing.T) {
	stateDir := t.TempDir()
	first, second := testOptions(t, stateDir, "first"), testOptions(t, stateDir, "second")
	var one, two *Cluster
	group := errgroup.Group{}
	group.Go(func() (err error) { one, err = Up(t.Context(), first); return err })
	group.Go(func() (err error) { two, err = Up(t.Context(), second); return err })
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Cluster{one, two} {
		if status := statusOf(t, c); !status.Healthy {
			t.Errorf("not healthy: %+v", status)
		}
	}
	t.Run("a Pod with a claim runs on a simulated node", func(t *testing.T) { testPodWithClaim(t, clientOf(t, one)) })
	t.Run("a Pod takes its grace period to end if it asks to", func(t *testing.T) { testSlowPod(t, clientOf(t, one)) })
	t.Run("who listens on this machine answers for a simulated Pod", func(t *testing.T) { testPodPort(t, one) })
	t.Run("up leaves a running cluster as it is", func(t *testing.T) {
		before := pids(t, one)
		if diff := cmp.Diff(before, pids(t, up(t, first))); diff != "" {
			t.Errorf("processes (-before +after):\n%s", diff)
		}
	})
	t.Run("up changes the number of nodes when asked to", func(t *testing.T) { testNodeCount(t, second) })
	t.Run("up repairs what died and nothing else", func(t *testing.T) { testRepair(t, first) })
	t.Run("a port that is taken is named", func(t *testing.T) { testTakenPort(t) })
	t.Run("data outlives a crash", func(t *testing.T) { testCrash(t, first) })
	t.Run("down of one leaves the other alone", func(t *testing.T) {
		if err := one.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status := statusOf(t, two); !status.Healthy {
			t.Errorf("the other cluster is not healthy any more: %+v", status)
		}
		if _, err := Open(first); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open after Down = %v, want ErrNotFound", err)
		}
	})
	if err := two.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectNothingLeft(t, stateDir)
}

func testPodWithClaim(t *testing.T, client kubernetes.Interface) {
	ctx, namespace := t.Context(), metav1.NamespaceDefault
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "none"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}},
		},
	}
	claims, pods := client.CoreV1().PersistentVolumeClaims(namespace), client.CoreV1().Pods(namespace)
	if _, err := claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is ready", func() bool {
		got, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && podReady(got)
	})
	bound, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil || bound.Status.Phase != corev1.ClaimBound {
		t.Fatalf("claim is %q, %v; want it bound", bound.Status.Phase, err)
	}
	if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(ctx, claim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume is deleted with its claim", func() bool {
		_, err := client.CoreV1().PersistentVolumes().Get(ctx, bound.Spec.VolumeName, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func testSlowPod(t *testing.T, client kubernetes.Interface) {
	const grace = 3 * time.Second
	ctx, pods := t.Context(), client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "slow", Annotations: map[string]string{TerminateAnnotation: TerminateSlowly}},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "c", Image: "none"}},
			TerminationGracePeriodSeconds: ptr.To(int64(grace.Seconds())),
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is ready", func() bool {
		got, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && podReady(got)
	})
	began := time.Now()
	if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is gone", func() bool {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// A deletionTimestamp has whole seconds.
	if took := time.Since(began); took < grace-time.Second {
		t.Errorf("it took %s to end, want %s", took, grace)
	}
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func testNodeCount(t *testing.T, o Options) {
	client := clientOf(t, up(t, o))
	for _, nodes := range []int{testNodes + 2, testNodes - 1} {
		o.Nodes = nodes
		up(t, o)
		found, err := simulatedNodes(t.Context(), client)
		if err != nil || len(found) != nodes {
			t.Errorf("simulated nodes = %d, %v; want %d", len(found), err, nodes)
		}
	}
}

func testRepair(t *testing.T, o Options) {
	c := up(t, o)
	before := pids(t, c)
	killed := []string{Scheduler, Provisioner}
	for _, name := range killed {
		if err := c.Kill(t.Context(), name, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := c.Kill(t.Context(), name, syscall.SIGKILL); !errors.Is(err, ErrNotRunning) {
			t.Errorf("killing %s again = %v, want ErrNotRunning", name, err)
		}
	}
	if statusOf(t, c).Healthy {
		t.Error("a cluster without its scheduler counts as healthy")
	}
	after := pids(t, up(t, o))
	for name := range before {
		wasKilled := name == killed[0] || name == killed[1]
		if (before[name] != after[name]) != wasKilled {
			t.Errorf("%s: process %d became %d, killed: %t", name, before[name], after[name], wasKilled)
		}
	}
	if status := statusOf(t, c); !status.Healthy {
		t.Errorf("the repaired cluster is not healthy: %+v", status)
	}
}

func testTakenPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	stateDir := t.TempDir()
	o := testOptions(t, stateDir, "third")
	o.APIPort = l.Addr().(*net.TCPAddr).Port
	_, err = Up(t.Context(), o)
	var taken *PortError
	if !errors.As(err, &taken) || taken.Port != o.APIPort || !strings.Contains(err.Error(), "--api-port") {
		t.Errorf("Up = %v, want a PortError with the way out", err)
	}
	expectNothingLeft(t, stateDir)
}

func testCrash(t *testing.T, o Options) {
	ctx, c := t.Context(), up(t, o)
	client := clientOf(t, c)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range c.ComponentNames() {
		if err := c.Kill(ctx, name, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range statusOf(t, c).Components {
		if part.State != Dead {
			t.Errorf("%s is %s, want it dead", part.Name, part.State)
		}
	}
	again := up(t, o)
	if diff := cmp.Diff(c.settings, again.settings); diff != "" {
		t.Errorf("settings (-before +after):\n%s", diff)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, kept.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("data after the crash: %v", err)
	}
}

func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	for _, moment := range []string{"etcd started", "kube-apiserver started"} {
		t.Run("when "+moment, func(t *testing.T) {
			stateDir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := testOptions(t, stateDir, "interrupted")
			o.Out = onText{text: moment, do: cancel}
			if _, err := Up(ctx, o); !errors.Is(err, context.Canceled) {
				t.Errorf("Up = %v, want the context's error", err)
			}
			expectNothingLeft(t, stateDir)
		})
	}
}

func TestCtrlCDuringUpLeavesNothing(t *testing.T) {
	stateDir := t.TempDir()
	o := testOptions(t, stateDir, "interrupted")
	if err := findPrograms(o.Root).ensure(t.Context(), o.Root, o.Out, false); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), findPrograms(o.Root).path(build.Devcluster),
		"up", "--root", o.Root, "--state-dir", stateDir)
	cmd.Stderr = onText{text: "etcd started", do: func() { _ = cmd.Process.Signal(os.Interrupt) }}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	var failed *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Errorf("devcluster up ended with %v, want exit code 1", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("an interrupted up prints %q", stdout.String())
	}
	expectNothingLeft(t, stateDir)
}

func TestAFailedStartNamesTheLog(t *testing.T) {
	stateDir := t.TempDir()
	o := testOptions(t, stateDir, "broken")
	o.Args = map[string][]string{Etcd: {"--cert-file=/no/such/file"}}
	_, err := Up(t.Context(), o)
	var failed *StartError
	if !errors.As(err, &failed) || failed.Component != Etcd || !strings.Contains(failed.Tail, "/no/such/file") {
		t.Fatalf("Up = %v, want a StartError with the end of etcd's log", err)
	}
	if _, err := os.Stat(failed.Log); err != nil {
		t.Errorf("the log: %v", err)
	}
	if found := processesUnder(t, stateDir); len(found) > 0 {
		t.Errorf("processes left:\n%s", strings.Join(found, "\n"))
	}
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if err := c.Logs(Etcd, &log); err != nil || !strings.Contains(log.String(), "/no/such/file") {
		t.Errorf("Logs = %q, %v", log.String(), err)
	}
	var unknown *UnknownComponentError
	if err := c.Logs("nonsense", &log); !errors.As(err, &unknown) {
		t.Errorf("Logs of an unknown component = %v, want an UnknownComponentError", err)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectNothingLeft(t, stateDir)
}

func TestARealNodeThatCannotRunIsSimulated(t *testing.T) {
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(program, filepath.Join(only, "go")); err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, t.TempDir(), "poor")
	o.RealNode = true
	t.Setenv("PATH", only)
	why := false
	o.Out = onText{text: "apt-get install nftables", do: func() { why = true }}
	c := up(t, o)
	if c.HasRealNode() || !why {
		t.Errorf("it has a real node: %t; it says what is missing: %t", c.HasRealNode(), why)
	}
	if status := statusOf(t, c); !status.Healthy || status.Nodes != testNodes {
		t.Errorf("its status is %+v", status)
	}
}
