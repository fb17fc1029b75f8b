package explain_test

import (
	"cmp"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/explain"
)

func TestControllersAreExplained(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-renewed))),
		}}
	}
	deployment := func(available int32, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
		return &appsv1.Deployment{Status: appsv1.DeploymentStatus{AvailableReplicas: available, Conditions: conditions}}
	}
	refused := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}
	stopped := deployment(0)
	stopped.Spec.Replicas = ptr.To[int32](0)
	cases := map[string]struct {
		controller explain.Controller
		why        string
		want       string
	}{
		"one that renews its Lease works":                 {explain.Controller{Lease: lease("a", 2*time.Second), Deployment: deployment(1)}, "a renewed", "ok AllWell"},
		"one outside the cluster works, too":              {explain.Controller{Lease: lease("a", 2*time.Second)}, "a renewed", "ok AllWell"},
		"one that works may have a Deployment unread":     {explain.Controller{Lease: lease("a", time.Second), Unread: []string{"forbidden"}}, "a renewed", "ok AllWell"},
		"its kinds are unknown":                           {explain.Controller{Missing: []string{"Sandbox"}}, "Sandbox", "stuck CRDNotInstalled"},
		"the extensions can be done without":              {explain.Controller{Name: explain.ExtensionsController, Missing: []string{"SandboxClaim"}}, "SandboxClaim", "note CRDNotInstalled"},
		"there is nothing of it":                          {explain.Controller{}, "", "stuck NotInstalled"},
		"nothing may be read":                             {explain.Controller{Unread: []string{"deployments: forbidden"}}, "forbidden", "unknown NotReadable"},
		"its Deployment says why it does not run":         {explain.Controller{Deployment: deployment(0, refused)}, "exceeded quota", "stuck NotRunning"},
		"it was stopped":                                  {explain.Controller{Deployment: stopped}, "spec.replicas is 0", "stuck NotRunning"},
		"it runs, and nobody holds the Lease":             {explain.Controller{Deployment: deployment(1)}, "", "stuck NoLeader"},
		"it runs, and the Lease was renewed too long ago": {explain.Controller{Deployment: deployment(1), Lease: lease("a", time.Hour)}, "1h0m0s", "stuck NoLeader"},
		"it ran outside the cluster, and stopped":         {explain.Controller{Lease: lease("", time.Hour)}, "1h0m0s", "stuck NoLeader"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.controller.Name = cmp.Or(c.controller.Name, explain.CoreController)
			check(t, explain.Controllers(now, []explain.Controller{c.controller}), c.why, c.want)
		})
	}
}
