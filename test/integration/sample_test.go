package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/names"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// The published example of the whole works as it is: pool 3 of 3, claim Ready, RuntimeClass, policy, labels and disks in place.
func TestTheWholeSampleWorksUnchanged(t *testing.T) {
	const sample = "testdata/agent-gvisor.yaml"
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	mustKubectl(t, "", "apply", "-f", sample)
	t.Cleanup(func() { removeSample(t) })
	pool := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: fixture.Named(metav1.NamespaceDefault, "agent-gvisor-pool")}
	fixture.Must(t, user, pool, await.Members(3))
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(metav1.NamespaceDefault, "session-4821")}
	name := fixture.Must(t, user, claim, await.Served()).Status.Sandbox.Name

	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(metav1.NamespaceDefault, name)}, await.Exists[*corev1.Pod]())
	if ptr.Deref(pod.Spec.RuntimeClassName, "") != "gvisor" || ptr.Deref(pod.Spec.AutomountServiceAccountToken, true) {
		t.Errorf("RuntimeClass %v, token %v", pod.Spec.RuntimeClassName, pod.Spec.AutomountServiceAccountToken)
	}
	disk := fixture.Must(t, user, &corev1.PersistentVolumeClaim{ObjectMeta: fixture.Named(metav1.NamespaceDefault, "workspace-"+name)},
		await.Exists[*corev1.PersistentVolumeClaim]())
	if owner := metav1.GetControllerOf(disk); owner == nil || owner.Name != name {
		t.Errorf("the disk belongs to %+v", owner)
	}
	policy := fixture.Must(t, user, &networkingv1.NetworkPolicy{ObjectMeta: fixture.Named(metav1.NamespaceDefault, "agent-gvisor-network-policy")},
		await.Exists[*networkingv1.NetworkPolicy]())
	if len(policy.Spec.Ingress) != 1 || len(policy.Spec.Egress) != 2 {
		t.Errorf("the policy's rules are %+v", policy.Spec)
	}
	checkSelects(t, policy, 4)
	if pod.Labels[sandboxv1beta1.LabelTemplateRefHash] != names.Hash("agent-gvisor") {
		t.Errorf("the Pod's labels are %v", pod.Labels)
	}
}

// A3.27: a claim with env starts cold though its pool has members, with the variable in its Pod, and tells why.
func TestTheExampleWithEnvStartsColdAndSaysWhy(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	namespace := testkit.Namespace(t, user)
	mustKubectl(t, "", "-n", namespace, "apply", "-f", "testdata/claim-with-env.yaml")
	claim := &extensionsv1beta1.SandboxClaim{ObjectMeta: fixture.Named(namespace, "with-env")}
	if name := fixture.Must(t, user, claim, await.Served()).Status.Sandbox.Name; name != claim.Name {
		t.Errorf("the claim was given %s, want a Sandbox of its own name", name)
	}
	pod := fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, claim.Name)}, await.Exists[*corev1.Pod]())
	if env := pod.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "SESSION" || env[0].Value != "4821" {
		t.Errorf("the Pod's variables are %+v", env)
	}
	const why = "the claim sets env, which a Pod that runs already cannot be given"
	testkit.Eventually(t, "kubectl describe tells why, in the condition and in the Event", func() error {
		output, err := kubectl(t, "", "-n", namespace, "describe", "sandboxclaim", claim.Name)
		if err == nil && (strings.Count(output, why) != 2 || !strings.Contains(output, extensionsv1beta1.ReasonEnvRequested)) {
			err = fmt.Errorf("it says\n%s", output)
		}
		return err
	})
}

// removeSample deletes all that the sample has brought into the namespace default, which is not the test's own.
func removeSample(t *testing.T) {
	t.Helper()
	for _, kind := range []client.Object{
		&extensionsv1beta1.SandboxClaim{}, &extensionsv1beta1.SandboxWarmPool{}, &extensionsv1beta1.SandboxTemplate{}, &sandboxv1beta1.Sandbox{},
		&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &networkingv1.NetworkPolicy{},
	} {
		// t.Context has ended when cleanups run.
		if err := user.DeleteAllOf(context.WithoutCancel(t.Context()), kind, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			t.Errorf("deleting every %T: %v", kind, err)
		}
	}
}

// checkSelects wants a policy to cover so many Pods.
func checkSelects(t *testing.T, policy *networkingv1.NetworkPolicy, count int) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the policy covers the Pods", func() error {
		var pods corev1.PodList
		if err := user.List(t.Context(), &pods, client.InNamespace(policy.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return err
		}
		if len(pods.Items) != count {
			return fmt.Errorf("it covers %d, want %d", len(pods.Items), count)
		}
		return nil
	})
}
