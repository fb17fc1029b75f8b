package template

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

// The router as it is released is admitted by the secure default, wherever it is installed, and from nowhere else.
func TestTheReleasedRouterIsAdmitted(t *testing.T) {
	router := releasedRouter(t)
	for name, test := range map[string]struct {
		told, installed string
		want            bool
	}{
		"in the namespace of the release":           {told: router.Namespace, installed: "agent-sandbox-system", want: true},
		"in another, which --router-namespace says": {told: "team-routers", installed: "team-routers", want: true},
		"in another, which nobody told":             {told: router.Namespace, installed: "team-routers"},
	} {
		t.Run(name, func(t *testing.T) {
			policy := desiredPolicy(testTemplate(), test.told)
			got := slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
				return len(rule.Ports) == 0 && slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
					return selects(t, peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: test.installed}) &&
						selects(t, peer.PodSelector, router.Spec.Template.Labels)
				})
			})
			if got != test.want {
				t.Errorf("admitted: %t, want %t", got, test.want)
			}
			if test.want && isRouterLockedOut(policy, test.installed) {
				t.Error("a warning says that it is locked out")
			}
		})
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	read, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return read.Matches(labels.Set(set))
}

// releasedRouter is the Deployment of the asset sandbox-router.yaml.
func releasedRouter(t *testing.T) *appsv1.Deployment {
	t.Helper()
	root, err := testkit.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "release", "testdata", "sandbox-router.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	const readAhead = 4096
	documents := yaml.NewYAMLOrJSONDecoder(file, readAhead)
	for {
		var found appsv1.Deployment
		err := documents.Decode(&found)
		if errors.Is(err, io.EOF) {
			t.Fatal("sandbox-router.yaml has no Deployment")
		}
		if err != nil {
			t.Fatal(err)
		}
		if found.Kind == "Deployment" {
			return &found
		}
	}
}
