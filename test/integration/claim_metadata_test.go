package integration_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// A3.20, A3.21, A3.22: a claim's metadata comes onto the Pod that runs, follows the claim, and goes; what is refused is told, and
// touches nothing. The Pod says whose it is.
func TestAClaimLabelsThePodThatRuns(t *testing.T) {
	const team = "sandbox.users.io/team"
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	startExtensions(t)
	pool := newPool(t, 1)
	fixture.Must(t, user, pool, await.Members(1))

	refused := fixture.Claim(pool, "refused")
	refused.Spec.AdditionalPodMetadata.Labels = map[string]string{"team": "a"}
	fixture.Create(t, user, refused)
	fixture.Must(t, user, refused, await.ClaimCondition(extensionsv1beta1.ConditionReady, metav1.ConditionFalse, extensionsv1beta1.ReasonInvalidMetadata))

	claim := fixture.Claim(pool, "claim")
	claim.Spec.AdditionalPodMetadata.Labels = map[string]string{team: "a"}
	fixture.Create(t, user, claim)
	served := fixture.Must(t, user, claim, await.Served())
	if name := served.Status.Sandbox.Name; name == claim.Name {
		t.Errorf("the claim started cold: %s", name)
	}
	pod := &corev1.Pod{ObjectMeta: fixture.Named(pool.Namespace, served.Status.Sandbox.Name)}
	labelled := func(key, value string) await.Want[*corev1.Pod] {
		return func(pod *corev1.Pod) string {
			if got := pod.Labels[key]; got != value {
				return fmt.Sprintf("its label %s is %q, want %q", key, got, value)
			}
			return ""
		}
	}
	before := fixture.Must(t, user, pod, labelled(team, "a"))
	fixture.Must(t, user, pod, labelled(sandboxv1beta1.LabelClaimUID, string(claim.UID)))
	edit(t, claim, func(c *extensionsv1beta1.SandboxClaim) { c.Spec.AdditionalPodMetadata.Labels[team] = "b" })
	fixture.Must(t, user, pod, labelled(team, "b"))
	edit(t, claim, func(c *extensionsv1beta1.SandboxClaim) {
		c.Spec.AdditionalPodMetadata.Labels = map[string]string{"team": "b"}
	})
	checkEvents(t, claim, extensionsv1beta1.EventSandboxAdopted, extensionsv1beta1.ReasonInvalidMetadata)
	edit(t, claim, func(c *extensionsv1beta1.SandboxClaim) { c.Spec.AdditionalPodMetadata.Labels = nil })
	after := fixture.Must(t, user, pod, labelled(team, ""))
	if after.UID != before.UID {
		t.Error("the Pod was made anew")
	}
}
