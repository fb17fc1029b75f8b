package helm_test

import (
	"strings"
	"sync"
	"testing"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/release/helm"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

const (
	root       = "../.."
	core       = "agent-sandbox-controller"
	extensions = "agent-sandbox-extensions-controller"
	// withoutCRDs spares tests that are not about them their half megabyte.
	withoutCRDs = "crds: {install: false}\n"
)

var usual = helm.Release{Name: "agent-sandbox", Namespace: "agent-sandbox-system"}

var loaded = sync.OnceValues(func() (*chart.Chart, error) { return helm.Load("../chart") })

func ourChart(t *testing.T) *chart.Chart {
	t.Helper()
	ours, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return ours
}

// parsed are values as Helm reads them from a file: its numbers are floating-point.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	values, err := loader.LoadValues(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func files(t *testing.T, release helm.Release, values map[string]any) map[string]string {
	t.Helper()
	made, err := helm.Files(t.Context(), ourChart(t), release, values)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// installed is what a release brings, with each object read strictly; the Prometheus Operator's kinds are left out.
func installed(t *testing.T, release helm.Release, values string) manifest.Asset {
	t.Helper()
	made := files(t, release, parsed(t, values))
	delete(made, "agent-sandbox/templates/monitoring.yaml")
	asset, err := manifest.Parse("chart", []byte(helm.Manifest(made)))
	if err != nil {
		t.Fatal(err)
	}
	return asset
}

// monitors are the objects of the Prometheus Operator.
func monitors(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for document := range strings.SplitSeq(files(t, usual, parsed(t, values))["agent-sandbox/templates/monitoring.yaml"], "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object != nil {
			metadata, _ := object["metadata"].(map[string]any)
			all[object["kind"].(string)+" "+metadata["name"].(string)] = object
		}
	}
	return all
}

// find returns the object of that type and name, or nil.
func find[T any](asset manifest.Asset, name string) *T {
	for _, object := range asset.Objects {
		if typed, ok := object.Typed.(any).(*T); ok && object.Meta.GetName() == name {
			return typed
		}
	}
	return nil
}

func deployment(t *testing.T, asset manifest.Asset, name string) *appsv1.Deployment {
	t.Helper()
	found := find[appsv1.Deployment](asset, name)
	if found == nil {
		t.Fatalf("there is no Deployment %s", name)
	}
	return found
}

func container(t *testing.T, asset manifest.Asset, name string) corev1.Container {
	t.Helper()
	return deployment(t, asset, name).Spec.Template.Spec.Containers[0]
}
