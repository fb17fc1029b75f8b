package integration_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

func mustKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	output, err := kubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func TestSampleApplies(t *testing.T) {
	namespace := testkit.Namespace(t, user)
	for _, mode := range []string{"--server-side=false", "--server-side=true"} {
		t.Run(mode, func(t *testing.T) {
			output := mustKubectl(t, "", "-n", namespace, "apply", mode, "--force-conflicts="+strings.TrimPrefix(mode, "--server-side="), "-f", "testdata/my-sandbox.yaml")
			if !strings.HasPrefix(output, "sandbox.agents.x-k8s.io/my-sandbox ") {
				t.Errorf("kubectl says %q", output)
			}
		})
	}
	if output := mustKubectl(t, "", "-n", namespace, "get", "sandbox", "-o", "name"); output != "sandbox.agents.x-k8s.io/my-sandbox\n" {
		t.Errorf("kubectl get sandbox: %q", output)
	}
}

func TestAssetsApplyClientSideToo(t *testing.T) {
	for _, name := range []string{coreAsset, extensionsAsset, unionAsset} {
		t.Run(name, func(t *testing.T) { checkAppliesClientSide(t, assetPath(name)) })
	}
}

func checkAppliesClientSide(t *testing.T, path string) {
	t.Helper()
	manifest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := install.Parse(manifest)
	if err != nil {
		t.Fatal(err)
	}
	output := mustKubectl(t, "", "apply", "--server-side=false", "-f", path)
	if lines := strings.Count(output, "\n"); lines < len(objects) || strings.Contains(output, "rror") {
		t.Errorf("kubectl apply tells of %d objects, want %d:\n%s", lines, len(objects), output)
	}
	// Client-side apply keeps a copy of each object in an annotation, which is what limits the size of a CRD.
	const limit = 250_000
	for _, object := range objects {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		if err := user.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
			t.Fatal(err)
		}
		copied := live.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]
		if copied == "" || len(copied) > limit {
			t.Errorf("%s %s: %d bytes in the annotation of client-side apply, want 1 to %d", live.GetKind(), live.GetName(), len(copied), limit)
		}
	}
}

func TestExplainShowsDescriptions(t *testing.T) {
	cases := map[string][]string{
		"sandbox":                  {"isolated, stateful, single Pod", "GROUP:      agents.x-k8s.io", "VERSION:    v1beta1"},
		"sandbox.spec":             {"operatingMode", "shutdownTime", "PersistentVolumeClaims that outlive the Pod", "-required-", "enum: Running, Suspended"},
		"sandbox.spec.podTemplate": {"Later edits do not touch a Pod that runs"},
		"sandbox.spec.podTemplate.spec.containers": {"name", "image"},
		"sandbox.spec.volumeClaimTemplates":        {"Name of the template"},
		"sandbox.status":                           {"DNS name of the headless Service", "podIPs", "nodeName"},
		"sandboxtemplate.spec":                     {"secure default", "enum: Allowed, Overrides, Disallowed"},
		"sandboxwarmpool.spec":                     {"is how many Sandboxes wait for claims", "is how long a member may take"},
		"sandboxclaim.spec":                        {"names the pool to take a Sandbox from", "-required-"},
	}
	for path, wants := range cases {
		t.Run(path, func(t *testing.T) {
			output := strings.Join(strings.Fields(mustKubectl(t, "", "explain", path+fields(path))), " ")
			for _, want := range wants {
				if !strings.Contains(output, strings.Join(strings.Fields(want), " ")) {
					t.Errorf("kubectl explain %s lacks %q:\n%s", path, want, output)
				}
			}
		})
	}
}

// fields goes on to a field whose description kubectl shows only by name.
func fields(path string) string {
	if path == "sandbox.spec.volumeClaimTemplates" {
		return ".metadata"
	}
	return ""
}
