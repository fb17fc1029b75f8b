package preflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// An API server alone has no node, and nothing that Sandboxes use.
var bare = []string{
	"blocked nodes Nodes",
	"warning runtime-classes RuntimeClasses",
	"warning network-policies NetworkPolicies",
	"warning storage-class StorageClasses",
	"warning dns Service kube-system/kube-dns",
}

func TestBeforeAndAfterAnInstallation(t *testing.T) {
	c := newCluster(t)
	for _, scope := range []string{"sandbox", "extensions"} {
		wantNotOK(t, c.findings(t, 1, "--for", scope), bare...)
	}
	t.Run("who has no rights is told which", func(t *testing.T) { checkNobody(t, c) })
	c.install(t, asset(t, "sandbox-with-extensions")...)
	c.create(t, leaseOf("laptop_4f"))
	// No controller manager makes Pods here, and none of ours holds the Lease.
	after := []string{
		"warning controllers Deployment agent-sandbox-system/" + install.CoreController,
		"warning controllers Deployment agent-sandbox-system/" + install.ExtensionsController,
		"warning leases Lease agent-sandbox-system/" + install.CoreLease,
	}
	findings := c.findings(t, 1)
	wantNotOK(t, findings, append(after, bare...)...)
	find(t, findings, "ok", "pod-security", "Namespace agent-sandbox-system")
	find(t, findings, "ok", "stored-versions", "CRD sandboxes.agents.x-k8s.io")
	t.Run("whoever may only read sees the same, and lacks the rights to install", func(t *testing.T) {
		c.create(t, reader)
		wantNotOK(t, c.findings(t, 1, "--as", "reader"), slices.Concat([]string{"blocked rights your rights", "blocked rights the controllers' rights"}, after, bare)...)
	})
	t.Run("another namespace has none of it, and another controller", func(t *testing.T) {
		find(t, c.findings(t, 1, "--namespace", "elsewhere"), "blocked", "controllers", "Deployment agent-sandbox-system/"+install.CoreController)
	})
}

const reader = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`

func leaseOf(holder string) string {
	return fmt.Sprintf(`apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {namespace: %s, name: %s}
spec: {holderIdentity: %s, leaseDurationSeconds: 600, renewTime: %q}
`, install.Namespace, install.CoreLease, holder, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
}

func checkNobody(t *testing.T, c cluster) {
	t.Helper()
	findings := c.findings(t, 1, "--as", "nobody")
	wantNotOK(t, findings,
		"blocked rights your rights", "blocked rights the controllers' rights",
		"unknown crds CRDs", "unknown controllers Deployments", "unknown controllers StatefulSets", "unknown leases Leases",
		"unknown namespace Namespace agent-sandbox-system", "unknown limits LimitRanges", "unknown limits ResourceQuotas", "unknown nodes Nodes",
		"unknown runtime-classes RuntimeClasses", "unknown network-policies NetworkPolicies", "unknown storage-class StorageClasses",
		"unknown dns Service kube-system/kube-dns", "unknown dns cluster domain")
	nodes := find(t, findings, "unknown", "nodes", "Nodes")
	if diff := cmp.Diff(finding{
		Check: "nodes", Result: "unknown", Object: "Nodes", Meaning: "not looked at, since you may not list nodes", WayOut: []string{"kubectl auth can-i list nodes --all-namespaces"},
	}, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rights := find(t, findings, "blocked", "rights", "your rights"); !strings.Contains(rights.Meaning, "get, create and patch namespaces, customresourcedefinitions.apiextensions.k8s.io") {
		t.Errorf("it does not name the right to make CRDs: %s", rights.Meaning)
	}
	// What is told as a way out is a command that kubectl knows, and its answer is no.
	for _, f := range findings {
		for _, command := range f.WayOut {
			if f.Result != "unknown" {
				continue
			}
			if answer := c.shell(t, command+" --as nobody || true", ""); !strings.HasPrefix(answer, "no") {
				t.Errorf("%s: %s", command, answer)
			}
		}
	}
}

// withVersions turns the CRD of Sandboxes into that of an installation which has an older version, too, and stores in it.
func withVersions(t *testing.T, older string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range asset(t, "sandbox") {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		before := versions[0].(map[string]any)
		old := (&unstructured.Unstructured{Object: before}).DeepCopy().Object
		old["name"], before["storage"] = older, false
		unstructured.RemoveNestedField(before, "schema", "openAPIV3Schema", "properties", "spec", "properties", "podFailurePolicy")
		if err := unstructured.SetNestedSlice(object.Object, []any{old, before}, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
		object.SetLabels(nil)
		return object
	}
	t.Fatal("the asset has no CRD")
	return nil
}

func boxes(names ...string) string {
	var manifest strings.Builder
	for _, name := range names {
		fmt.Fprintf(&manifest, `---
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata: {namespace: default, name: %s}
spec: {podTemplate: {spec: {containers: [{name: main, image: main}]}}}
`, name)
	}
	return manifest.String()
}

// A7.13: objects are stored in a version that our CRD does not have. The API server refuses it, preflight says so beforehand, and
// what it tells to do is the way out.
func TestOldStoredVersionsAreFoundAndMigrated(t *testing.T) {
	c := exampleCluster(t)
	t.Run("the example of the documentation is what the command prints", func(t *testing.T) { checkExample(t, c) })
	const versionOfA = "kubectl get sandbox a --output jsonpath={.metadata.resourceVersion}"
	before := c.shell(t, versionOfA, "")
	err := install.ApplyObjects(t.Context(), c.config, asset(t, "sandbox"))
	if err == nil || !strings.Contains(err.Error(), "storedVersions") {
		t.Fatalf("applying the CRD over v1alpha1 answers %v", err)
	}
	blocked := find(t, c.findings(t, 1), "blocked", "stored-versions", "CRD sandboxes.agents.x-k8s.io")
	if !strings.Contains(blocked.Meaning, "objects may be stored as v1alpha1") || !strings.Contains(blocked.Meaning, "Rewrite its 2 objects as v1beta1") {
		t.Errorf("it says: %s", blocked.Meaning)
	}
	for _, command := range blocked.WayOut {
		c.shell(t, command, "")
	}
	find(t, c.findings(t, 0), "ok", "stored-versions", "CRD sandboxes.agents.x-k8s.io")
	// The API server does not write what is stored as it is to be.
	if after := c.shell(t, versionOfA, ""); after == before {
		t.Error("the Sandbox was not stored anew")
	}
	c.install(t, asset(t, "sandbox")...)
	if got := c.shell(t, "kubectl get sandboxes --output jsonpath='{.items[*].spec.podTemplate.spec.containers[0].image}'", ""); got != "main main" {
		t.Errorf("the Sandboxes have the images %q", got)
	}
}

func TestWhatStandsInTheWayOnceInstalled(t *testing.T) {
	c := newCluster(t)
	c.install(t, asset(t, "sandbox-with-extensions")...)
	t.Run("an old version that is named, without an object", func(t *testing.T) { checkVersionWithoutObjects(t, c) })
	t.Run("what Sandboxes use", func(t *testing.T) { checkMissing(t, c) })
	t.Run("the commands that try NetworkPolicies are such that the API server takes", func(t *testing.T) { checkTryingPolicies(t, c) })
}

func checkVersionWithoutObjects(t *testing.T, c cluster) {
	t.Helper()
	c.shell(t, `kubectl patch crd sandboxes.agents.x-k8s.io --type=json --patch '[{"op":"add","path":"/spec/versions/-","value":{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}}]'`, "")
	c.shell(t, `kubectl patch crd sandboxes.agents.x-k8s.io --subresource=status --type=merge --patch '{"status":{"storedVersions":["v1alpha1","v1beta1"]}}'`, "")
	blocked := find(t, c.findings(t, 1), "blocked", "stored-versions", "CRD sandboxes.agents.x-k8s.io")
	for _, command := range blocked.WayOut {
		c.shell(t, command, "")
	}
	find(t, c.findings(t, 1), "ok", "stored-versions", "CRD sandboxes.agents.x-k8s.io")
	c.install(t, asset(t, "sandbox")...)
}

func checkMissing(t *testing.T, c cluster) {
	t.Helper()
	c.create(t, `apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata: {namespace: default, name: isolated}
spec: {podTemplate: {spec: {runtimeClassName: kata, containers: [{name: main, image: main}]}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: example.com/disks
volumeBindingMode: WaitForFirstConsumer
`)
	findings := c.findings(t, 1)
	kata := find(t, findings, "blocked", "runtime-classes", "RuntimeClass kata")
	if want := "named by SandboxTemplate default/isolated:"; !strings.Contains(kata.Meaning, want) {
		t.Errorf("it does not say %q: %s", want, kata.Meaning)
	}
	standard := find(t, findings, "warning", "storage-class", "StorageClasses")
	// The ways out, in order, and then both are well.
	for _, command := range append(standard.WayOut, find(t, findings, "warning", "runtime-classes", "RuntimeClasses").WayOut...) {
		c.shell(t, command, "")
	}
	c.create(t, "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n")
	findings = c.findings(t, 1)
	find(t, findings, "ok", "storage-class", "StorageClass standard")
	if classes := find(t, findings, "ok", "runtime-classes", "RuntimeClasses"); !strings.Contains(classes.Meaning, "gvisor (handler runsc) and kata (handler kata)") {
		t.Errorf("RuntimeClasses: %s", classes.Meaning)
	}
	if told := notOK(findings); slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, "runtime-classes") }) {
		t.Errorf("not ok: %q", told)
	}
}

func checkTryingPolicies(t *testing.T, c cluster) {
	t.Helper()
	for _, command := range find(t, c.findings(t, 1), "warning", "network-policies", "NetworkPolicies").WayOut {
		switch {
		case strings.Contains(command, "policy-test wait") || strings.Contains(command, "run client"):
			// No Pod runs here,
		case strings.Contains(command, "delete namespace"):
			c.shell(t, command+" --wait=false", "") // and no namespace ends.
		default:
			c.shell(t, command, "")
		}
	}
}
