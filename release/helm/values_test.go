package helm_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/release/helm"
)

// everything turns on what is off by default, so that each value has something to act on.
const everything = `
core: {flags: {metrics-secure-serving: true}, podDisruptionBudget: {enabled: true}}
extensions: {enabled: true, podDisruptionBudget: {enabled: true}}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
networkPolicy: {enabled: true}
namespace: {create: true}
warmPools: {maxReplicas: 5}
`

// others are values that the schema takes, by the ends of their paths. What is missing is changed by its type.
var others = map[string]any{
	"pullPolicy": "Always", "digest": "sha256:" + strings.Repeat("0f", 32), "validationActions": []any{"Audit"}, "config": map[string]any{"kube-api-burst": 11.0},
	"namespace": "elsewhere", "interval": "7s", "scrapeTimeout": "7s", "serviceAccount.name": "agent-sandbox-other-controller", "maxUnavailable": "50%",
	"coldClaimShare": 0.25, "extraArgs": []any{"--other"}, "metrics-cert-dir": "/elsewhere",
	// Among other things, these are on already in the text that is compared.
	"serviceMonitor.enabled": false, "prometheusRule.enabled": false, "networkPolicy.enabled": false, "podDisruptionBudget.enabled": false, "namespace.create": false,
	"extensions.enabled": false, "core.flags.metrics-secure-serving": false,
}

func TestEveryValueChangesSomething(t *testing.T) {
	before := map[string]map[string]string{}
	for _, base := range []string{everything, everything + withoutCRDs} {
		before[base] = files(t, usual, parsed(t, base))
	}
	for _, path := range leaves(ourChart(t).Values, nil) {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			base := everything + withoutCRDs
			if path[0] == "crds" {
				base = everything
			}
			values := parsed(t, base)
			put(values, path, other(ourChart(t).Values, path))
			if maps.Equal(before[base], files(t, usual, values)) {
				t.Error("no template acts on it")
			}
		})
	}
}

// leaves are the paths of all values that are no mapping with fields.
func leaves(values map[string]any, prefix []string) [][]string {
	var paths [][]string
	for key, value := range values {
		path := append(slices.Clone(prefix), key)
		if fields, ok := value.(map[string]any); ok && len(fields) > 0 {
			paths = append(paths, leaves(fields, path)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

// other is a value of the same type as the one at path, but another.
func other(values map[string]any, path []string) any {
	name := strings.Join(path, ".")
	for _, samples := range []map[string]any{others, samples} {
		for end, value := range samples {
			if name == end || strings.HasSuffix(name, "."+end) {
				return value
			}
		}
	}
	var value any = values
	for _, key := range path {
		value = value.(map[string]any)[key]
	}
	switch value := value.(type) {
	case bool:
		return !value
	case float64:
		return value + 7
	case string:
		return "changed"
	case []any:
		return []any{map[string]any{"name": "changed"}}
	case nil:
		return 7.0
	default:
		return map[string]any{"changed": "changed"}
	}
}

func put(values map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := values[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			values[key] = next
		}
		values = next
	}
	values[path[len(path)-1]] = value
}

func TestEveryValueThatATemplateReadsExists(t *testing.T) {
	templates, err := filepath.Glob("../chart/templates/*")
	if err != nil || len(templates) == 0 {
		t.Fatal(templates, err)
	}
	reference := regexp.MustCompile(`(\.Values|\$values)((?:\.\w+)+)`)
	found := 0
	for _, template := range templates {
		content, err := os.ReadFile(template)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range reference.FindAllStringSubmatch(string(content), -1) {
			found++
			path := strings.Split(match[2][1:], ".")
			sections := [][]string{path}
			if match[1] == "$values" {
				sections = [][]string{append([]string{"core"}, path...), append([]string{"extensions"}, path...)}
			}
			for _, section := range sections {
				if !exists(ourChart(t).Values, section) {
					t.Errorf("%s reads %s, which values.yaml does not have", template, match[0])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d references were found", found)
	}
}

func exists(values map[string]any, path []string) bool {
	value, ok := values[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	fields, ok := value.(map[string]any)
	return ok && exists(fields, path[1:])
}

// free are the values whose fields are Kubernetes' own, or the user's.
var free = regexp.MustCompile(`\.(env|resources|podSecurityContext|securityContext|nodeSelector|strategy)(\.|$)|^serviceMonitor\.tlsConfig$`)

func TestAMistypedKeyIsRefused(t *testing.T) {
	sections := [][]string{nil}
	for _, leaf := range leaves(ourChart(t).Values, nil) {
		for end := range leaf {
			sections = append(sections, leaf[:end])
		}
	}
	seen := map[string]bool{}
	for _, section := range sections {
		name := strings.Join(section, ".")
		if seen[name] || free.MatchString(name) {
			continue
		}
		seen[name] = true
		values := map[string]any{}
		put(values, append(slices.Clone(section), "mistyped"), true)
		where := "/" + strings.Join(section, "/")
		if _, err := helm.Files(t.Context(), ourChart(t), usual, values); err == nil || !strings.Contains(err.Error(), "mistyped") || !strings.Contains(err.Error(), strings.TrimSuffix(where, "/")) {
			t.Errorf("%s: got %v, want an error that names the key and its place", name, err)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d sections were looked at", len(seen))
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"core: {replicas: two}":                                                         "/core/replicas",
		"core: {replicas: -1}":                                                          "/core/replicas",
		"core: {enabled: \"true\"}":                                                     "/core/enabled",
		"core: {flags: {leader-elect: \"no\"}}":                                         "/core/flags/leader-elect",
		"core: {flags: {sandbox-concurrent-workers: 0}}":                                "/core/flags/sandbox-concurrent-workers",
		"core: {flags: {leader-elect-lease-duration: 15}}":                              "/core/flags/leader-elect-lease-duration",
		"core: {flags: {metrics-bind-address: 8080}}":                                   "/core/flags/metrics-bind-address",
		"core: {flags: {kube-api-qps: 0}}":                                              "/core/flags/kube-api-qps",
		"core: {flags: {sandbox-claim-concurrent-workers: 5}}":                          "sandbox-claim-concurrent-workers",
		"extensions: {flags: {sandbox-warm-pool-max-refill-rate: -1}}":                  "/extensions/flags/sandbox-warm-pool-max-refill-rate",
		"extensions: {flags: {router-namespace: A_B}}":                                  "/extensions/flags/router-namespace",
		"core: {flags: {kube-api-qps: \"0\"}}":                                          "/core/flags/kube-api-qps",
		"core: {flags: {kube-api-qps: -0.5}}":                                           "/core/flags/kube-api-qps",
		"core: {flags: {kube-api-qps: many}}":                                           "/core/flags/kube-api-qps",
		"prometheusRule: {coldClaimShare: 1.5}":                                         "/prometheusRule/coldClaimShare",
		"image: {tag: latest}":                                                          "/image/tag",
		"image: {registry: example.com/}":                                               "/image/registry",
		"core: {image: {digest: 0f}}":                                                   "/core/image/digest",
		"core: {env: {GOMEMLIMIT: 5}}":                                                  "/core/env/GOMEMLIMIT",
		"imagePullSecrets: [mine]":                                                      "/imagePullSecrets/0",
		"config: {sandbox-concurent-workers: 5}":                                        "sandbox-concurent-workers",
		"config: {metrics-bind-address: \":9\"}":                                        "metrics-bind-address", // objects of the chart follow the flag
		"warmPools: {maxReplicas: -1}":                                                  "/warmPools/maxReplicas",
		"admissionPolicies: {warmPoolLimits: {validationActions: []}}":                  "/admissionPolicies/warmPoolLimits/validationActions",
		"core: {enabled: false}":                                                        "nothing would be installed",
		"core: {serviceAccount: {name: mine}}":                                          "core.serviceAccount.name=mine: the policy on reserved metadata trusts",
		"core: {serviceAccount: {name: agent-sandbox-mycontroller}}":                    "agent-sandbox-mycontroller: the policy on reserved metadata trusts",
		"serviceMonitor: {enabled: true}\ncore: {flags: {metrics-bind-address: \"0\"}}": "core.flags.metrics-bind-address=0 serves no metrics",
	} {
		t.Run(values, func(t *testing.T) {
			if _, err := helm.Files(t.Context(), ourChart(t), usual, parsed(t, withoutCRDs+values)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}
