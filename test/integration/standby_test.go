package integration_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// A replica that waits for the Lease can take over at once, and is never ready and then not: ready means that it knows all that
// its controllers read, whether or not they work yet.
func TestAStandbyIsReadyOnlyWithAllItsInformers(t *testing.T) {
	for _, c := range []struct{ controller, binary, hidden string }{
		{install.CoreController, binary, "services"},
		{install.CoreController, binary, "limitranges"},
		{install.CoreController, binary, "runtimeclasses"},
		{install.CoreController, binary, "storageclasses"},
		{install.ExtensionsController, extensionsBinary, "nodes"},
		{install.ExtensionsController, extensionsBinary, "sandboxtemplates"},
	} {
		t.Run(c.controller+" that cannot see "+c.hidden, func(t *testing.T) {
			t.Parallel()
			namespace := testkit.Namespace(t, user)
			leaseElsewhere(t, namespace, c.controller)
			controllerThatCannotSee(t, namespace, c.controller, c.hidden)
			controller, err := install.StartController(t.Context(), apiServer.Config, install.ControllerOptions{
				Binary: c.binary, Namespace: namespace, ServiceAccount: c.controller, Log: io.Discard, ReadyTimeout: 10 * time.Second,
			})
			if err == nil {
				stopController(t, controller)
				t.Fatal("it is ready")
			}
			if told := err.Error(); !strings.Contains(told, "not ready after") || !strings.Contains(told, "failed to list") || !strings.Contains(told, c.hidden) {
				t.Error(err)
			}
		})
	}
}

// leaseElsewhere lets somebody else hold the Lease of the controller for longer than a test takes.
func leaseElsewhere(t *testing.T, namespace, controller string) {
	t.Helper()
	now := metav1.NowMicro()
	fixture.Create(t, user, &coordinationv1.Lease{
		ObjectMeta: fixture.Named(namespace, install.LeaseOf(controller)),
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now,
		},
	})
}

// controllerThatCannotSee makes a ServiceAccount in the namespace that has the rights of the controller, without those to a resource.
func controllerThatCannotSee(t *testing.T, namespace, controller, resource string) {
	t.Helper()
	whole := &rbacv1.ClusterRole{}
	if err := user.Get(t.Context(), client.ObjectKey{Name: controller}, whole); err != nil {
		t.Fatal(err)
	}
	whole.Rules = append(whole.Rules, rbacv1.PolicyRule{
		APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Verbs: []string{"get"},
	})
	for i := range whole.Rules {
		whole.Rules[i].Resources = slices.DeleteFunc(whole.Rules[i].Resources, func(r string) bool { return r == resource })
	}
	whole.Rules = slices.DeleteFunc(whole.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
	account := &corev1.ServiceAccount{ObjectMeta: fixture.Named(namespace, controller)}
	name := metav1.ObjectMeta{Name: namespace + "-" + controller}
	for _, object := range []client.Object{
		account,
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: whole.Rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: controller}},
		},
	} {
		fixture.Create(t, user, object)
	}
}
