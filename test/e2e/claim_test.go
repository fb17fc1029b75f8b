//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

const podHold = "example.com/hold"

// startExtensions runs the controller of the extensions until the test ends.
func startExtensions(t *testing.T) {
	t.Helper()
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := install.BuildProgram(t.Context(), install.Build{Root: root, Program: install.ExtensionsController, Race: raceDetector})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(root, "bin", "e2e-extensions-controller.log"))
	if err != nil {
		t.Fatal(err)
	}
	extensions := runner{suite: controller.suite, ControllerOptions: install.ControllerOptions{
		Binary: binary, ServiceAccount: install.ExtensionsController, Log: log,
	}}
	if err := extensions.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := extensions.stop(); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// going wants an object that is being deleted and is still there.
func going[T interface {
	comparable
	client.Object
}](seen T) string {
	var none T
	switch {
	case seen == none:
		return "it is gone"
	case seen.GetDeletionTimestamp() == nil:
		return "nobody has deleted it"
	}
	return ""
}

// A3.23: a claim that expires by DeleteForeground is there until its Sandbox and its Pod have gone.
func TestAClaimDeletedInTheForegroundOutlivesItsPod(t *testing.T) {
	startExtensions(t)
	template := fixture.Template(newNamespace(t), "agent")
	pool := fixture.Pool(template, "pool", 0)
	claim := fixture.Claim(pool, "claim")
	for _, object := range []client.Object{template, pool, claim} {
		fixture.Create(t, user, object)
	}
	fixture.Must(t, user, claim, await.Served())
	sandbox := fixture.Sandbox(claim.Namespace, claim.Name)
	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(claim.Namespace, claim.Name)}, await.Exists[*corev1.Pod]())
	hold(t, pod, podHold)

	expiring := claim.DeepCopy()
	expiring.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{
		ShutdownTime: ptr.To(metav1.NewTime(time.Now())), ShutdownPolicy: extensionsv1beta1.ShutdownPolicyDeleteForeground,
	}
	if err := user.Patch(t.Context(), expiring, client.MergeFrom(claim)); err != nil {
		t.Fatalf("letting the claim expire: %v", err)
	}
	fixture.Must(t, user, pod, going[*corev1.Pod])
	fixture.Must(t, user, sandbox, going[*sandboxv1beta1.Sandbox])
	fixture.Must(t, user, claim, going[*extensionsv1beta1.SandboxClaim])
	hold(t, pod)
	for _, object := range []client.Object{pod, sandbox, claim} {
		fixture.MustBeGone(t, user, object)
	}
}

// hold sets the finalizers of a Pod.
func hold(t *testing.T, pod *corev1.Pod, finalizers ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := user.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	held := pod.DeepCopy()
	held.Finalizers = finalizers
	if err := user.Patch(ctx, held, client.MergeFrom(pod)); err != nil {
		t.Fatalf("setting the finalizers of Pod %s to %v: %v", pod.Name, finalizers, err)
	}
}
