package helm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/release/helm"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
	"sigs.k8s.io/agent-sandbox/release/internal/rules"
)

// A7.3: the chart installs the objects of the assets, each once, by the same names.
func TestTheChartInstallsWhatTheAssetsDo(t *testing.T) {
	for name, test := range map[string]struct{ asset, values, missing string }{
		"by default, the core":                     {"sandbox", "", "Namespace agent-sandbox-system"}, // helm install --create-namespace makes it
		"with its namespace":                       {"sandbox", "namespace: {create: true}", ""},
		"the extensions by a release of their own": {"extensions", "core: {enabled: false}\nextensions: {enabled: true}", ""},
		"the extensions with the core, in one":     {"sandbox-with-extensions", "extensions: {enabled: true}\nnamespace: {create: true}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asset := installed(t, usual, test.values)
			want, got := plain(t, golden(t, test.asset)), plain(t, asset)
			if test.missing != "" && want[test.missing] == nil {
				t.Errorf("%s.yaml has no %s either", test.asset, test.missing)
			}
			delete(want, test.missing)
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("the chart (-%s.yaml +chart):\n%s", test.asset, difference)
			}
			if len(asset.Objects) != len(want) {
				t.Errorf("%d objects, want %d", len(asset.Objects), len(want))
			}
			for _, breach := range rules.Check(asset) {
				t.Error(breach)
			}
		})
	}
}

func golden(t *testing.T, name string) manifest.Asset {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "release", "testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	asset, err := manifest.Parse(name+".yaml", content)
	if err != nil {
		t.Fatal(err)
	}
	return asset
}

// plain are the objects without the only things in which chart and assets may differ: Helm's own labels, its policy on
// what is kept, and the version of controller-gen that an asset tells of a CRD.
func plain(t *testing.T, asset manifest.Asset) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, object := range asset.Objects {
		var fields map[string]any
		if err := yaml.Unmarshal(object.YAML, &fields); err != nil {
			t.Fatal(err)
		}
		strip(fields["metadata"])
		if spec, ok := fields["spec"].(map[string]any); ok && object.Kind.Kind == "Deployment" {
			strip(spec["template"].(map[string]any)["metadata"])
		}
		all[object.ID()] = fields
	}
	return all
}

func strip(metadata any) {
	fields := metadata.(map[string]any)
	for field, keys := range map[string][]string{
		"labels":      {"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance"},
		"annotations": {"helm.sh/resource-policy", "controller-gen.kubebuilder.io/version"},
	} {
		if values, ok := fields[field].(map[string]any); ok {
			maps.DeleteFunc(values, func(key string, _ any) bool { return slices.Contains(keys, key) })
			if len(values) == 0 {
				delete(fields, field)
			}
		}
	}
}

// A7.1: what an object needs is applied before it.
func TestAManifestIsOrderedForApplying(t *testing.T) {
	asset := installed(t, usual, everything)
	at := func(kind string) (first, last int) {
		first = -1
		for i, object := range asset.Objects {
			if object.Kind.Kind == kind {
				last = i
				if first < 0 {
					first = i
				}
			}
		}
		if first < 0 {
			t.Fatalf("there is no %s", kind)
		}
		return first, last
	}
	needs := [][2]string{
		{"Namespace", "CustomResourceDefinition"}, {"Namespace", "ServiceAccount"}, {"Namespace", "ConfigMap"}, {"CustomResourceDefinition", "Deployment"},
		{"ServiceAccount", "Deployment"}, {"ClusterRoleBinding", "Deployment"}, {"RoleBinding", "Deployment"}, {"ConfigMap", "Deployment"},
		{"ClusterRole", "ClusterRoleBinding"}, {"Role", "RoleBinding"}, {"ClusterRoleBinding", "ValidatingAdmissionPolicyBinding"},
	}
	for _, pair := range needs {
		_, last := at(pair[0])
		if first, _ := at(pair[1]); first < last {
			t.Errorf("document %d is a %s, before %d, a %s", first, pair[1], last, pair[0])
		}
	}
}

// A7.11: what is in crds/ Helm would never upgrade, so the CRDs are templates, which stay when the release goes.
func TestAnUpgradeBringsTheCRDs(t *testing.T) {
	if objects := ourChart(t).CRDObjects(); len(objects) != 0 {
		t.Errorf("%d CRDs are in crds/", len(objects))
	}
	upgrade := usual
	upgrade.Upgrade = true
	kinds := []string{
		"sandboxclaims.extensions.agents.x-k8s.io", "sandboxes.agents.x-k8s.io",
		"sandboxtemplates.extensions.agents.x-k8s.io", "sandboxwarmpools.extensions.agents.x-k8s.io",
	}
	for name, test := range map[string]struct {
		values string
		want   []string
		policy string
	}{
		"of the core":                     {"", kinds[1:2], "keep"},
		"of the extensions with them":     {"extensions: {enabled: true}", kinds, "keep"},
		"not those that others install":   {"crds: {install: false}", nil, ""},
		"gone with the release, if asked": {"crds: {keep: false}", kinds[1:2], ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, object := range installed(t, upgrade, test.values).Objects {
				crd, ok := object.Typed.(*apiextensionsv1.CustomResourceDefinition)
				if !ok {
					continue
				}
				got = append(got, crd.Name)
				if policy := crd.Annotations["helm.sh/resource-policy"]; policy != test.policy {
					t.Errorf("%s has the policy %q, want %q", crd.Name, policy, test.policy)
				}
			}
			slices.Sort(got)
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Errorf("CRDs (-want +got):\n%s", difference)
			}
		})
	}
}

// Helm keeps chart and manifest of each revision in one Secret, which etcd takes up to a megabyte and a half, and the API server to one.
func TestARevisionFitsIntoASecret(t *testing.T) {
	ours := ourChart(t)
	made := files(t, usual, parsed(t, "extensions: {enabled: true}"))
	record, err := json.Marshal(map[string]any{"chart": ours, "manifest": helm.Manifest(made)})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	// Base64, once by Helm and once by the Secret.
	if size := packed.Len() * 16 / 9; size > limit/2 {
		t.Errorf("a revision takes %d bytes, more than half of what a Secret holds", size)
	}
}
