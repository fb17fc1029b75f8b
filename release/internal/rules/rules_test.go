package rules

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/release/internal/crdschema"
	"sigs.k8s.io/agent-sandbox/release/internal/finding"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
)

// breach is one edit of the good asset and what must be found then: rule, field and value.
type breach struct {
	old, new string
	rule     string
	field    string
	value    string
}

const container = "spec.template.spec.containers[manager]"

func permissionBreaches() map[string]breach {
	return map[string]breach{
		"a role that names all verbs": {`verbs: ["get", "list"]`, `verbs: ["*"]`, "least-privilege", "rules[0].verbs", "*"},
		"a role that names all resources beside one": {
			`resources: ["things"]`, `resources: ["things", "*"]`, "least-privilege", "rules[0].resources", "things,*",
		},
		"a role that names all groups":        {`apiGroups: ["example.com"]`, `apiGroups: ["*"]`, "least-privilege", "rules[0].apiGroups", "*"},
		"a role that names all URLs":          {`verbs: ["get", "list"]`, `verbs: ["get"]` + "\n" + `- {nonResourceURLs: ["*"], verbs: ["get"]}`, "least-privilege", "rules[1].nonResourceURLs", "*"},
		"a role that may escalate":            {`verbs: ["get", "list"]`, `verbs: ["escalate"]`, "least-privilege", "rules[0].verbs", "escalate"},
		"a role that may bind":                {`verbs: ["get", "list"]`, `verbs: ["bind"]`, "least-privilege", "rules[0].verbs", "bind"},
		"a role that may impersonate":         {`verbs: ["get", "list"]`, `verbs: ["impersonate"]`, "least-privilege", "rules[0].verbs", "impersonate"},
		"a wildcard in a namespace":           {`verbs: ["get"]`, `verbs: ["*"]`, "least-privilege", "rules[0].verbs", "*"},
		"Secrets of all namespaces":           {`apiGroups: ["example.com"]` + "\n" + `  resources: ["things"]`, `apiGroups: [""]` + "\n" + `  resources: ["pods", "secrets"]`, "no-cluster-wide-secrets", "rules[0].resources", "secrets"},
		"a role that may change CRDs (A6.10)": {`resources: ["things"]` + "\n" + `  verbs: ["get", "list"]`, `resources: ["customresourcedefinitions"]` + "\n" + `  verbs: ["get", "update"]`, "no-cluster-wide-powers", "rules[0].resources", "customresourcedefinitions"},
		"a binding to a Role that is missing": {"kind: Role, name: lease", "kind: Role, name: other", "bindings-resolve", "roleRef.name", "other"},
		"a binding to a ClusterRole that is missing": {
			"kind: ClusterRole, name: manager", "kind: ClusterRole, name: other", "bindings-resolve", "roleRef.name", "other",
		},
		"a binding to a Role of another namespace": {
			"kind: RoleBinding\nmetadata: {name: lease, namespace: system}", "kind: RoleBinding\nmetadata: {name: lease, namespace: other}", "bindings-resolve", "roleRef.name", "lease",
		},
		"a binding for an account that is missing": {
			"- {kind: ServiceAccount, name: manager, namespace: system}", "- {kind: ServiceAccount, name: manager, namespace: other}", "bindings-resolve", "subjects[0]", "ServiceAccount other/manager",
		},
		"a binding for everyone": {
			"- {kind: ServiceAccount, name: manager, namespace: system}", "- {kind: Group, name: 'system:authenticated'}", "bindings-resolve", "subjects[0]", "Group /system:authenticated",
		},
		"a binding for nobody":                     {"subjects:\n- {kind: ServiceAccount, name: manager, namespace: system}\n", "", "bindings-resolve", "subjects", ""},
		"a policy that nothing puts in force":      {"policyName: guard", "policyName: other", "policies-bound", "metadata.name", "guard"},
		"a policy that only warns":                 {"validationActions: [Deny]", "validationActions: [Warn]", "policies-bound", "metadata.name", "guard"},
		"a policy that passes over its own errors": {"failurePolicy: Fail", "failurePolicy: Ignore", "policies-bound", "spec.failurePolicy", "Ignore"},
		"a workload whose account is absent":       {"serviceAccountName: manager", "serviceAccountName: other", "accounts-exist", "spec.template.spec.serviceAccountName", "other"},
		"a workload with no account":               {"serviceAccountName: manager", "nodeName: a", "accounts-exist", "spec.template.spec.serviceAccountName", ""},
	}
}

func workloadBreaches() map[string]breach {
	return map[string]breach{
		"an object that stands twice": {
			"kind: ServiceAccount\nmetadata: {name: manager, namespace: system}\n",
			"kind: ServiceAccount\nmetadata: {name: manager, namespace: system}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager, namespace: system}\n",
			"unique-objects", "metadata.name", "manager",
		},
		"a namespace that holds Pods to less":       {"enforce: restricted", "enforce: baseline", "restricted-namespace", "metadata.labels[pod-security.kubernetes.io/enforce]", "baseline"},
		"a Pod that may run as root":                {"runAsNonRoot: true", "runAsNonRoot: false", "restricted-pods", "spec.template.spec", "runAsNonRoot != true: pod must not set securityContext.runAsNonRoot=false"},
		"a Pod without seccomp":                     {"seccompProfile: {type: RuntimeDefault}", "fsGroup: 1", "restricted-pods", "spec.template.spec", `seccompProfile: pod or container "manager" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`},
		"a container that may gain privileges":      {"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "restricted-pods", "spec.template.spec", `allowPrivilegeEscalation != false: container "manager" must set securityContext.allowPrivilegeEscalation=false`},
		"a container that keeps capabilities":       {"capabilities: {drop: [ALL]}", "capabilities: {drop: [NET_RAW]}", "restricted-pods", "spec.template.spec", `unrestricted capabilities: container "manager" must set securityContext.capabilities.drop=["ALL"]`},
		"a container with a writable root":          {"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "restricted-pods", container + ".securityContext.readOnlyRootFilesystem", ""},
		"a container without a liveness probe":      {"livenessProbe", "startupProbe", "probes", container + ".livenessProbe", ""},
		"a container without a readiness probe":     {"readinessProbe", "startupProbe", "probes", container + ".readinessProbe", ""},
		"a container without a CPU request":         {"requests: {cpu: 100m, memory: 64Mi}", "requests: {memory: 64Mi}", "resources", container + ".resources.requests.cpu", ""},
		"a container without a memory request":      {"requests: {cpu: 100m, memory: 64Mi}", "requests: {cpu: 100m}", "resources", container + ".resources.requests.memory", ""},
		"a container without a memory limit":        {"limits: {memory: 128Mi}", "limits: {cpu: 1}", "resources", container + ".resources.limits.memory", ""},
		"a memory limit of zero":                    {"limits: {memory: 128Mi}", "limits: {memory: 0}", "resources", container + ".resources.limits.memory", ""},
		"the image latest":                          {"manager:v1", "manager:latest", "pinned-images", container + ".image", "example.com:5000/manager:latest"},
		"an image without a tag, port aside":        {"manager:v1", "manager", "pinned-images", container + ".image", "example.com:5000/manager"},
		"an image with an empty tag":                {"example.com:5000/manager:v1", "'example.com:5000/manager:'", "pinned-images", container + ".image", "example.com:5000/manager:"},
		"a Service in front of nothing":             {"selector: {app: manager}", "selector: {app: other}", "services-select", "spec.selector", "app=other"},
		"a Service that selects nothing by name":    {"selector: {app: manager}", "type: ClusterIP", "services-select", "spec.selector", ""},
		"a Service of another namespace":            {"kind: Service\nmetadata: {name: manager, namespace: system}", "kind: Service\nmetadata: {name: manager, namespace: other}", "services-select", "spec.selector", "app=manager"},
		"a Service to a port that is not there":     {"targetPort: metrics", "targetPort: http", "services-select", "spec.ports[0].targetPort", "http"},
		"a field of the API without a description":  {"description: What is wanted.", "title: a", "crd-descriptions", "v1.spec.description", ""},
		"a root of the API without a description":   {"description: A thing.", "title: a", "crd-descriptions", "v1.description", ""},
		"a field inside PodSpec with a description": {"nodeName: {type: string}", "nodeName: {type: string, description: theirs}", "crd-descriptions", "v1.spec.pod.nodeName.description", "theirs"},
	}
}

func TestEveryBreachIsOneFinding(t *testing.T) {
	good := readGood(t)
	covered := map[string]bool{}
	for _, breaches := range []map[string]breach{permissionBreaches(), workloadBreaches()} {
		for name, test := range breaches {
			covered[test.rule] = true
			t.Run(name, func(t *testing.T) {
				if !strings.Contains(good, test.old) {
					t.Fatalf("the good asset does not contain %q", test.old)
				}
				findings := check(t, strings.Replace(good, test.old, test.new, 1))
				if len(findings) != 1 {
					t.Fatalf("want one finding, got %d: %v", len(findings), findings)
				}
				got := findings[0]
				want := finding.Finding{File: "asset.yaml", Rule: test.rule, Object: got.Object, Field: test.field, Value: test.value, Fix: got.Fix}
				if difference := cmp.Diff(want, got); difference != "" {
					t.Errorf("finding (-want +got):\n%s", difference)
				}
				if got.Object == "" || got.Fix == "" {
					t.Errorf("%v does not name the object and the way out", got)
				}
			})
		}
	}
	for _, rule := range table() {
		// These two have tests of their own: their breaches are more than one edit or more than one finding.
		if !covered[rule.name] && rule.name != "crd-size" && rule.name != "no-cluster-admin" {
			t.Errorf("no case shows that rule %s can fail", rule.name)
		}
	}
}

func TestTheGoodAssetHasNoFinding(t *testing.T) {
	for _, breach := range check(t, readGood(t)) {
		t.Error(breach)
	}
}

func TestADigestIsPinned(t *testing.T) {
	asset := strings.Replace(readGood(t), "manager:v1", "manager@sha256:"+strings.Repeat("a", 64), 1)
	for _, breach := range check(t, asset) {
		t.Error(breach)
	}
}

func TestBindingToARoleOfTheClusterIsFound(t *testing.T) {
	for _, name := range []string{"cluster-admin", "admin", "edit"} {
		asset := strings.Replace(readGood(t), "kind: ClusterRole, name: manager", "kind: ClusterRole, name: "+name, 1)
		var found []string
		for _, breach := range check(t, asset) {
			found = append(found, breach.Rule+" "+breach.Field+" "+breach.Value)
		}
		want := []string{"no-cluster-admin roleRef.name " + name, "bindings-resolve roleRef.name " + name}
		if difference := cmp.Diff(want, found); difference != "" {
			t.Errorf("findings (-want +got):\n%s", difference)
		}
	}
}

func TestACRDThatApplyCannotStoreIsFound(t *testing.T) {
	long := "description: " + strings.Repeat("x", crdschema.MaxBytes)
	findings := check(t, strings.Replace(readGood(t), "description: A thing.", long, 1))
	var fields []string
	for _, breach := range findings {
		fields = append(fields, breach.Rule+" "+breach.Field)
	}
	want := []string{"crd-size size in bytes", "crd-size size in bytes as compact JSON"}
	if difference := cmp.Diff(want, fields); difference != "" {
		t.Errorf("findings (-want +got):\n%s", difference)
	}
}

func TestInitContainersAreHeldToTheSame(t *testing.T) {
	asset := strings.Replace(readGood(t), "      containers:\n", "      initContainers:\n      - name: first\n        image: first\n      containers:\n", 1)
	rules := map[string]bool{}
	for _, breach := range check(t, asset) {
		rules[breach.Rule] = true
	}
	want := map[string]bool{"restricted-pods": true, "resources": true, "pinned-images": true}
	if difference := cmp.Diff(want, rules); difference != "" {
		t.Errorf("rules with findings (-want +got):\n%s", difference)
	}
}

func TestEveryKindOfWorkloadIsLookedInto(t *testing.T) {
	good := readGood(t)
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		asset := strings.Replace(strings.Replace(good, "kind: Deployment", "kind: "+kind, 1), "manager:v1", "manager", 1)
		if findings := check(t, asset); len(findings) != 1 || findings[0].Rule != "pinned-images" {
			t.Errorf("%s: got %v, want one finding about the image", kind, findings)
		}
	}
	job := strings.NewReplacer("apiVersion: apps/v1\nkind: Deployment", "apiVersion: batch/v1\nkind: Job", "livenessProbe", "startupProbe", "manager:v1", "manager").Replace(good)
	if findings := check(t, job); len(findings) != 1 || findings[0].Rule != "pinned-images" {
		t.Errorf("Job: got %v, want one finding about the image and none about probes", findings)
	}
}

func TestAnEmptyAssetIsFound(t *testing.T) {
	if findings := check(t, "# nothing\n"); len(findings) != 1 || findings[0].Rule != "not-empty" {
		t.Errorf("got %v, want one finding that nothing is there", findings)
	}
}

func readGood(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func check(t *testing.T, content string) []finding.Finding {
	t.Helper()
	return Check(parse(t, "asset.yaml", []byte(content)))
}

// A6.11: what each controller may change in all namespaces, to the resource.
func TestTheControllersTouchNothingElse(t *testing.T) {
	for name, want := range map[string][]string{
		"sandbox.yaml": {"events", "persistentvolumeclaims", "pods", "sandboxes", "sandboxes/finalizers", "sandboxes/status", "services"},
		"extensions.yaml": {
			"events", "networkpolicies", "sandboxclaims", "sandboxclaims/finalizers", "sandboxclaims/status", "sandboxes",
			"sandboxtemplates", "sandboxtemplates/finalizers", "sandboxtemplates/status",
			"sandboxwarmpools/finalizers", "sandboxwarmpools/status",
		},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if got := changedEverywhere(parse(t, name, content)); !slices.Equal(got, want) {
				t.Errorf("the controller changes %v, want %v", got, want)
			}
		})
	}
}

// A7.5: recorders write to events.k8s.io, and to the core group where an API server lacks that.
func TestEventsMayBeWrittenThroughBothGroups(t *testing.T) {
	for _, name := range []string{"sandbox.yaml", "extensions.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		verbs := map[string][]string{}
		for _, role := range roles(parse(t, name, content)) {
			for _, rule := range role.rules {
				if !role.clusterWide || !slices.Contains(rule.Resources, "events") {
					continue
				}
				for _, group := range rule.APIGroups {
					verbs[group] = append(verbs[group], rule.Verbs...)
				}
			}
		}
		for _, group := range []string{"", "events.k8s.io"} {
			for _, verb := range []string{"create", "patch"} {
				if !slices.Contains(verbs[group], verb) {
					t.Errorf("%s does not let its controller %s Events of the group %q", name, verb, group)
				}
			}
		}
	}
}

func parse(t *testing.T, name string, content []byte) manifest.Asset {
	t.Helper()
	asset, err := manifest.Parse(name, content)
	if err != nil {
		t.Fatal(err)
	}
	return asset
}

// changedEverywhere lists the resources that ClusterRoles allow to change.
func changedEverywhere(asset manifest.Asset) []string {
	changed := map[string]bool{}
	for _, role := range roles(asset) {
		for _, rule := range role.rules {
			if !role.clusterWide || !slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }) {
				continue
			}
			for _, resource := range rule.Resources {
				changed[resource] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}
