package render_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/golden"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
	"sigs.k8s.io/agent-sandbox/release/internal/render"
	"sigs.k8s.io/agent-sandbox/release/internal/rules"
)

var update = flag.Bool("update", false, "rewrite the golden copies")

const root = "../../.."

func TestAssets(t *testing.T) {
	for _, overlay := range render.Overlays() {
		path := filepath.Join(root, "release", "testdata", overlay.Name+".yaml")
		asset, err := render.Render(root, overlay, render.Development())
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := golden.Write(path, asset); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(overlay.Name+" is as its golden copy", func(t *testing.T) {
			if err := golden.Compare(path, asset, "make golden"); err != nil {
				t.Error(err)
			}
		})
		t.Run(overlay.Name+" breaks no rule", func(t *testing.T) {
			for _, breach := range rules.Check(parse(t, asset)) {
				t.Error(breach)
			}
		})
	}
}

func TestAssetsAreOrderedForApplying(t *testing.T) {
	cases := map[string][]string{
		"sandbox": {
			"Namespace agent-sandbox-system",
			"CustomResourceDefinition.apiextensions.k8s.io sandboxes.agents.x-k8s.io",
			"ServiceAccount agent-sandbox-system/agent-sandbox-controller",
			"ClusterRole.rbac.authorization.k8s.io agent-sandbox-controller",
			"ClusterRoleBinding.rbac.authorization.k8s.io agent-sandbox-controller",
			"Role.rbac.authorization.k8s.io agent-sandbox-system/agent-sandbox-controller",
			"RoleBinding.rbac.authorization.k8s.io agent-sandbox-system/agent-sandbox-controller",
			"ValidatingAdmissionPolicy.admissionregistration.k8s.io agent-sandbox-reserved-metadata",
			"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io agent-sandbox-reserved-metadata",
			"Service agent-sandbox-system/agent-sandbox-controller",
			"Deployment.apps agent-sandbox-system/agent-sandbox-controller",
		},
		// Without the namespace: deleting the file must leave the core running.
		"extensions": {
			"CustomResourceDefinition.apiextensions.k8s.io sandboxclaims.extensions.agents.x-k8s.io",
			"CustomResourceDefinition.apiextensions.k8s.io sandboxtemplates.extensions.agents.x-k8s.io",
			"CustomResourceDefinition.apiextensions.k8s.io sandboxwarmpools.extensions.agents.x-k8s.io",
			"ServiceAccount agent-sandbox-system/agent-sandbox-extensions-controller",
			"ClusterRole.rbac.authorization.k8s.io agent-sandbox-extensions-controller",
			"ClusterRoleBinding.rbac.authorization.k8s.io agent-sandbox-extensions-controller",
			"Role.rbac.authorization.k8s.io agent-sandbox-system/agent-sandbox-extensions-controller",
			"RoleBinding.rbac.authorization.k8s.io agent-sandbox-system/agent-sandbox-extensions-controller",
			"ValidatingAdmissionPolicy.admissionregistration.k8s.io agent-sandbox-warm-pool-limits",
			"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io agent-sandbox-warm-pool-limits",
			"Service agent-sandbox-system/agent-sandbox-extensions-controller",
			"Deployment.apps agent-sandbox-system/agent-sandbox-extensions-controller",
		},
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, object := range readAsset(t, name).Objects {
				got = append(got, object.ID())
			}
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("objects of %s.yaml (-want +got):\n%s", name, difference)
			}
		})
	}
}

// Whoever applies extensions.yaml after sandbox.yaml has what whoever applies sandbox-with-extensions.yaml has.
func TestTheAssetOfEverythingIsTheUnionOfTheOthers(t *testing.T) {
	union := map[string]string{}
	for _, name := range []string{"sandbox", "extensions"} {
		for id, text := range texts(readAsset(t, name)) {
			if _, twice := union[id]; twice {
				t.Errorf("%s is declared by both files", id)
			}
			union[id] = text
		}
	}
	everything := readAsset(t, "sandbox-with-extensions")
	if difference := cmp.Diff(union, texts(everything)); difference != "" {
		t.Errorf("sandbox-with-extensions.yaml (-union of the others +got):\n%s", difference)
	}
	if len(everything.Objects) != len(union) {
		t.Errorf("sandbox-with-extensions.yaml has %d documents, want %d", len(everything.Objects), len(union))
	}
}

func TestTheCoreAloneKnowsNothingOfTheExtensions(t *testing.T) {
	traces := []string{"extensions.agents.x-k8s.io", "agent-sandbox-extensions-controller"}
	for id, text := range texts(readAsset(t, "sandbox")) {
		for _, trace := range traces {
			if strings.Contains(text, trace) {
				t.Errorf("%s mentions %s", id, trace)
			}
		}
	}
	for _, trace := range traces {
		if !slices.ContainsFunc(slices.Collect(maps.Values(texts(readAsset(t, "extensions")))), func(text string) bool { return strings.Contains(text, trace) }) {
			t.Errorf("extensions.yaml does not mention %s: the search above would find nothing", trace)
		}
	}
}

func TestTagAndPrefixReachImagesAndLabels(t *testing.T) {
	overlay, err := render.Find("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	asset, err := render.Render(root, overlay, render.Release{ImagePrefix: "example.com/mirror", Tag: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"        image: example.com/mirror/agent-sandbox-controller:v1.2.3\n": 1,
		"\n    app.kubernetes.io/version: v1.2.3\n":                           11,
		"\n        app.kubernetes.io/version: v1.2.3\n":                       1,
	} {
		if got := strings.Count(string(asset), line); got != want {
			t.Errorf("%q stands %d times, want %d", line, got, want)
		}
	}
}

func TestADigestDecidesAndTheTagStaysForPeople(t *testing.T) {
	overlay, err := render.Find("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	byTag, err := render.Render(root, overlay, render.Development())
	if err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + strings.Repeat("0f", 32)
	release := render.Development()
	release.Digests = map[string]string{"agent-sandbox-controller": digest, "other": "sha256:" + strings.Repeat("1e", 32)}
	byDigest, err := render.Render(root, overlay, release)
	if err != nil {
		t.Fatal(err)
	}
	const image = "        image: registry.k8s.io/agent-sandbox/agent-sandbox-controller:v0.0.0-dev"
	want := strings.Replace(string(byTag), image+"\n", image+"@"+digest+"\n", 1)
	if difference := cmp.Diff(want, string(byDigest)); difference != "" {
		t.Errorf("rendered by digest (-want +got):\n%s", difference)
	}
	for _, breach := range rules.Check(parse(t, byDigest)) {
		t.Error(breach)
	}
}

func TestAnImageWithoutADigestIsNamed(t *testing.T) {
	overlay, err := render.Find("sandbox")
	if err != nil {
		t.Fatal(err)
	}
	release := render.Development()
	release.Digests = map[string]string{"other": "sha256:" + strings.Repeat("1e", 32)}
	_, err = render.Render(root, overlay, release)
	if err == nil || !strings.Contains(err.Error(), "no digest of image agent-sandbox-controller, but of other") {
		t.Errorf("got %v, want an error that names the image", err)
	}
}

func TestReleasesThatCannotBeInstalledAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		release render.Release
		want    string
	}{
		"an empty prefix would give an image that starts with a slash": {render.Release{Tag: "v1"}, "image prefix"},
		"a prefix with a slash at the end would give two":              {render.Release{ImagePrefix: "a/", Tag: "v1"}, "image prefix"},
		"an empty tag means latest":                                    {render.Release{ImagePrefix: "a"}, "tag"},
		"latest is another image tomorrow":                             {render.Release{ImagePrefix: "a", Tag: "latest"}, "tag"},
		"a tag that is no label value could not be applied":            {render.Release{ImagePrefix: "a", Tag: "v1+build"}, "label value"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.release.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error about %q", err, test.want)
			}
		})
	}
}

func TestOverlaysThatWouldInstallSomethingElseAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   string
	}{
		"an image of the table that no container has": {"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n", "no container has the image"},
		"a kind without a place in the order":         {"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n", "kind Secret has no place"},
		"a file that is no object":                    {"a: b\n", "building overlay"},
	} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			directory := filepath.Join(scratch, "kustomize", "overlays", "odd")
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{"kustomization.yaml": "resources: [object.yaml]\n", "object.yaml": test.object} {
				if err := os.WriteFile(filepath.Join(directory, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			overlay := render.Overlay{Name: "odd"}
			if strings.Contains(test.want, "image") {
				overlay.Images = []string{"missing"}
			}
			if _, err := render.Render(scratch, overlay, render.Development()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestFindNamesTheOverlaysThereAre(t *testing.T) {
	if _, err := render.Find("sandbxo"); err == nil || !strings.Contains(err.Error(), "choose from sandbox") {
		t.Errorf("got %v, want an error that lists the overlays", err)
	}
}

// readAsset reads a golden copy, which TestAssets holds to what is rendered.
func readAsset(t *testing.T, name string) manifest.Asset {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "release", "testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, content)
}

// texts are the documents of an asset by the objects they declare.
func texts(asset manifest.Asset) map[string]string {
	all := map[string]string{}
	for _, object := range asset.Objects {
		all[object.ID()] = string(object.YAML)
	}
	return all
}

func parse(t *testing.T, content []byte) manifest.Asset {
	t.Helper()
	asset, err := manifest.Parse("asset.yaml", content)
	if err != nil {
		t.Fatal(err)
	}
	return asset
}
