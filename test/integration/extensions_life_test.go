package integration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// A6.9 for the extensions: members and Sandboxes of claims carry owner references that block a deletion.
func TestRenderedRolesSufficeForPoolsAndClaims(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	core, coreBook := startController(t)
	extensions, extensionsBook := startExtensions(t)
	pool := newPool(t, 2)
	fixture.Must(t, user, pool, await.Members(2))

	warm := fixture.Claim(pool, "warm")
	fixture.Create(t, user, warm)
	given := fixture.Must(t, user, warm, await.Served()).Status.Sandbox
	if !strings.HasPrefix(given.Name, "pool-") || len(given.PodIPs) != 1 {
		t.Errorf("the claim was given %+v, want a member of the pool with an IP", given)
	}
	checkOwner(t, warm, given.Name)
	fixture.Must(t, user, pool, await.Members(2))

	edit(t, pool, func(p *extensionsv1beta1.SandboxWarmPool) { p.Spec.Replicas = ptr.To[int32](0) })
	fixture.Must(t, user, pool, await.Members(0))
	cold := fixture.Claim(pool, "cold")
	fixture.Create(t, user, cold)
	if started := fixture.Must(t, user, cold, await.Served()).Status.Sandbox.Name; started != "cold" {
		t.Errorf("with an empty pool the claim was given %s, want a Sandbox of its own name", started)
	}
	checkOwner(t, cold, "cold")

	edit(t, cold, expire(extensionsv1beta1.ShutdownPolicyRetain))
	fixture.Must(t, user, cold, await.ClaimCondition(extensionsv1beta1.ConditionReady, metav1.ConditionFalse, extensionsv1beta1.ReasonClaimExpired))
	fixture.MustBeGone(t, user, fixture.Sandbox(cold.Namespace, "cold"))
	edit(t, warm, expire(extensionsv1beta1.ShutdownPolicyDelete))
	fixture.MustBeGone(t, user, warm)

	checkEvents(t, cold, extensionsv1beta1.EventSandboxProvisioned, extensionsv1beta1.ReasonClaimExpired)
	stopController(t, extensions)
	stopController(t, core)
	checkLog(t, extensionsBook)
	checkLog(t, coreBook)
}

// checkOwner wants the Sandbox to be the claim's, in a way that blocks the claim's deletion.
func checkOwner(t *testing.T, claim *extensionsv1beta1.SandboxClaim, name string) {
	t.Helper()
	sandbox := fixture.Must(t, user, fixture.Sandbox(claim.Namespace, name), await.Exists[*sandboxv1beta1.Sandbox]())
	owner := metav1.GetControllerOf(sandbox)
	if owner == nil || owner.UID != claim.UID || !ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Errorf("the controller of Sandbox %s is %+v, want claim %s with blockOwnerDeletion", name, owner, claim.UID)
	}
}

// expire lets a claim expire at once.
func expire(policy extensionsv1beta1.ShutdownPolicy) func(*extensionsv1beta1.SandboxClaim) {
	return func(claim *extensionsv1beta1.SandboxClaim) {
		claim.Spec.Lifecycle = &extensionsv1beta1.Lifecycle{ShutdownTime: ptr.To(metav1.NewTime(time.Now().Add(-time.Second))), ShutdownPolicy: policy}
	}
}

// edit changes an object as it is stored.
func edit[T client.Object](t *testing.T, object T, change func(T)) {
	t.Helper()
	if err := user.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("a copy of %T is no object", object)
	}
	change(object)
	if err := user.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatalf("editing %s: %v", object.GetName(), err)
	}
}

// checkEvents waits until kubectl tells the Events of a claim.
func checkEvents(t *testing.T, claim *extensionsv1beta1.SandboxClaim, reasons ...string) {
	t.Helper()
	for _, reason := range reasons {
		testkit.Eventually(t, "Event "+reason, func() error {
			output, err := kubectl(t, "", "-n", claim.Namespace, "describe", "sandboxclaim", claim.Name)
			if err == nil && !strings.Contains(output, " "+reason+" ") {
				err = fmt.Errorf("kubectl describe says only\n%s", output)
			}
			return err
		})
	}
}

func TestDeletingTheExtensionsLeavesTheCoreAtWork(t *testing.T) {
	t.Cleanup(func() {
		if err := applyAsset(extensionsAsset); err != nil {
			t.Error(err)
		}
	})
	testkit.StartKubelet(t, apiServer.Config)
	controller, book := startController(t)
	namespace := testkit.Namespace(t, user)
	before := fixture.Sandbox(namespace, "before")
	fixture.Create(t, user, before)
	fixture.Must(t, user, before, await.Ready())

	mustKubectl(t, "", "delete", "-f", assetPath(extensionsAsset))
	if output, err := kubectl(t, "", "get", "sandboxclaims", "-A"); err == nil {
		t.Errorf("the API of the extensions is still served:\n%s", output)
	}
	after := fixture.Sandbox(namespace, "after")
	fixture.Create(t, user, after)
	fixture.Must(t, user, after, await.Ready())
	fixture.Must(t, user, before, await.Ready())
	stopController(t, controller)
	checkLog(t, book)
}
