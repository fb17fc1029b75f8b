package integration_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// A6.9: this API server does refuse an owner reference that blocks a deletion to those who lack the right, so that the
// controller's whole life under its rendered role shows that it has it.
func TestTheAPIServerEnforcesTheRightToBlockDeletions(t *testing.T) {
	ctx := context.Background()
	namespace := testkit.Namespace(t, user)
	name := fixture.Named(namespace, "maker")
	role := &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "maker"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "maker"}},
	}
	if err := user.Create(ctx, role); err != nil {
		t.Fatal(err)
	}
	if err := user.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	box := fixture.Sandbox(namespace, "box")
	fixture.Create(t, user, box)
	asMaker := rest.CopyConfig(apiServer.Config)
	asMaker.Impersonate = rest.ImpersonationConfig{UserName: "maker"}
	maker, err := await.NewClient(asMaker)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: fixture.Named(namespace, "pod"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1"}}}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(box, sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind))}
	if err := maker.Create(ctx, pod.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("creating a Pod whose owner reference blocks a deletion answers %v", err)
	}
	pod.OwnerReferences[0].BlockOwnerDeletion = ptr.To(false)
	if err := maker.Create(ctx, pod); err != nil {
		t.Errorf("without that: %v", err)
	}
}
