package preflight

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"sigs.k8s.io/agent-sandbox/release/internal/images"
)

func TestTheTargetIsWhatTheAssetsInstall(t *testing.T) {
	cases := map[Scope]struct{ crds, deployments []string }{
		Sandbox: {[]string{"sandboxes.agents.x-k8s.io"}, []string{"agent-sandbox-controller"}},
		Extensions: {
			[]string{
				"sandboxes.agents.x-k8s.io", "sandboxclaims.extensions.agents.x-k8s.io",
				"sandboxtemplates.extensions.agents.x-k8s.io", "sandboxwarmpools.extensions.agents.x-k8s.io",
			},
			[]string{"agent-sandbox-controller", "agent-sandbox-extensions-controller"},
		},
	}
	for scope, want := range cases {
		t.Run(string(scope), func(t *testing.T) {
			target := targetOf(t, scope, "elsewhere")
			var crds, deployments []string
			for _, crd := range target.crds() {
				crds = append(crds, crd.Name)
			}
			for _, deployment := range target.deployments() {
				deployments = append(deployments, deployment.Name)
				if deployment.Namespace != "elsewhere" {
					t.Errorf("%s is installed in %s", deployment.Name, deployment.Namespace)
				}
			}
			if diff := cmp.Diff([][]string{want.crds, want.deployments}, [][]string{crds, deployments}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := NewTarget("pools", DefaultNamespace); err == nil || !strings.Contains(err.Error(), "choose sandbox or extensions") {
		t.Errorf("a target that there is not: %v", err)
	}
}

func TestRightsFollowFromTheAssets(t *testing.T) {
	target := targetOf(t, Sandbox, "elsewhere")
	rights := target.installRights()
	for _, want := range []Right{
		{Verb: "create", Resource: "namespaces"},
		{Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"},
		{Verb: "get", Group: "apps", Resource: "deployments", Namespace: "elsewhere"},
	} {
		if !slices.Contains(rights, want) {
			t.Errorf("nobody is asked whether one may %s", want)
		}
	}
	if lease := (Right{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "elsewhere"}); !slices.Contains(target.grantedRights(), lease) {
		t.Errorf("the roles do not give the right to %s", lease)
	}
	// Rights to URLs, or to single objects, would need questions of their own.
	for _, role := range ofType[*rbacv1.ClusterRole](everything(t)) {
		for _, rule := range role.Rules {
			if len(rule.NonResourceURLs)+len(rule.ResourceNames) > 0 {
				t.Errorf("%s has a rule that is not asked for: %v", role.Name, rule)
			}
		}
	}
}

// What is said elsewhere, too.
func TestConstantsAgreeWithTheirSources(t *testing.T) {
	chart, err := os.ReadFile("../../chart/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := `kubeVersion: ">=` + oldestKubernetes + `.0-0"`; !strings.Contains(string(chart), want) {
		t.Errorf("the chart does not have %s", want)
	}
	var built []string
	for platform := range strings.SplitSeq(images.List(images.Platforms()), ",") {
		built = append(built, strings.TrimPrefix(platform, "linux/"))
	}
	if diff := cmp.Diff(built, architectures()); diff != "" {
		t.Errorf("architectures of images (-built +known):\n%s", diff)
	}
	var names []string
	for _, deployment := range everything(t).deployments() {
		names = append(names, deployment.Name)
		if have := (workload{ObjectMeta: deployment.ObjectMeta}); !oursByLabels(have) {
			t.Errorf("%s is not known as ours by its labels: %v", deployment.Name, deployment.Labels)
		}
		if got := imageName(deployment.Spec.Template.Spec.Containers[0].Image); got != deployment.Name {
			t.Errorf("the image of %s is %s", deployment.Name, got)
		}
	}
	if diff := cmp.Diff(names, controllerNames()); diff != "" {
		t.Errorf("controllers (-installed +known):\n%s", diff)
	}
}

func TestARightIsToldAsKubectlHasIt(t *testing.T) {
	cases := map[string]struct {
		right           Right
		says, arguments string
	}{
		"of the cluster":    {Right{Verb: "list", Resource: "nodes"}, "list nodes", "list nodes --all-namespaces"},
		"of all namespaces": {Right{Verb: "list", Group: "apps", Resource: "deployments", Namespace: AllNamespaces}, "list deployments.apps in all namespaces", "list deployments.apps --all-namespaces"},
		"of one namespace":  {Right{Verb: "list", Resource: "services", Namespace: "a"}, "list services in namespace a", "list services --namespace a"},
		"of one object":     {Right{Verb: "get", Resource: "configmaps", Namespace: "a", Name: "b"}, "get configmaps b in namespace a", "get configmaps/b --namespace a"},
		"of a subresource":  {Right{Verb: "patch", Group: "x.io", Resource: "as/status"}, "patch as.x.io/status", "patch as.x.io --subresource=status --all-namespaces"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{c.says, c.arguments}, []string{c.right.String(), c.right.arguments()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
