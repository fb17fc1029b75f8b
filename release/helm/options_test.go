package helm_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sigs.k8s.io/agent-sandbox/release/helm"
	"sigs.k8s.io/agent-sandbox/release/internal/manifest"
	"sigs.k8s.io/agent-sandbox/release/internal/rules"
)

func configMap(asset manifest.Asset, name string) map[string]string {
	if found := find[corev1.ConfigMap](asset, name); found != nil {
		return found.Data
	}
	return nil
}

// A7.7, A7.12: nothing names a namespace or a release of its own.
func TestAnotherReleaseInAnotherNamespace(t *testing.T) {
	release := helm.Release{Name: "mine", Namespace: "elsewhere"}
	values := parsed(t, everything+withoutCRDs)
	for name, text := range files(t, release, values) {
		if strings.Contains(text, usual.Namespace) {
			t.Errorf("%s names the usual namespace:\n%s", name, text)
		}
	}
	asset := installed(t, release, everything+withoutCRDs)
	for _, breach := range rules.Check(asset) {
		t.Error(breach)
	}
	for _, object := range asset.Objects {
		if object.Meta.GetNamespace() != "" && object.Meta.GetNamespace() != "elsewhere" {
			t.Errorf("%s is not in the namespace of the release", object.ID())
		}
		if got := object.Meta.GetLabels()["app.kubernetes.io/instance"]; got != "mine" {
			t.Errorf("%s is of release %q", object.ID(), got)
		}
	}
	if limits := find[admissionregistrationv1.ValidatingAdmissionPolicyBinding](asset, "agent-sandbox-warm-pool-limits"); limits.Spec.ParamRef.Namespace != "elsewhere" {
		t.Errorf("the limit of pools is looked for in %s", limits.Spec.ParamRef.Namespace)
	}
	if args := container(t, asset, extensions).Args; !slices.Contains(args, "--router-namespace=elsewhere") {
		t.Errorf("the router is admitted from elsewhere: %v", args)
	}
}

// A7.12: ports are declared, and follow the flags; the right to the Lease is where the Lease is.
func TestPortsAndLeaseFollowTheFlags(t *testing.T) {
	for name, test := range map[string]struct {
		flags  string
		ports  map[string]int32
		probes bool
		served int32
	}{
		"the defaults":           {"{}", map[string]int32{"metrics": 8080, "healthz": 8081}, true, 8080},
		"others":                 {"{metrics-bind-address: \":9090\", health-probe-bind-address: \"0.0.0.0:9091\"}", map[string]int32{"metrics": 9090, "healthz": 9091}, true, 9090},
		"no metrics":             {"{metrics-bind-address: \"0\"}", map[string]int32{"healthz": 8081}, true, 0},
		"no health":              {"{health-probe-bind-address: \"0\"}", map[string]int32{"metrics": 8080}, false, 8080},
		"the flag is taken away": {"{metrics-bind-address: null}", map[string]int32{"metrics": 8080, "healthz": 8081}, true, 8080},
	} {
		t.Run(name, func(t *testing.T) {
			asset := installed(t, usual, withoutCRDs+"core: {flags: "+test.flags+"}")
			only := container(t, asset, core)
			ports := map[string]int32{}
			for _, port := range only.Ports {
				ports[port.Name] = port.ContainerPort
			}
			if difference := cmp.Diff(test.ports, ports); difference != "" {
				t.Errorf("ports (-want +got):\n%s", difference)
			}
			if (only.LivenessProbe != nil) != test.probes || (only.ReadinessProbe != nil) != test.probes {
				t.Errorf("probes %v, %v", only.LivenessProbe, only.ReadinessProbe)
			}
			var served int32
			if service := find[corev1.Service](asset, core); service != nil {
				served = service.Spec.Ports[0].Port
			}
			if served != test.served {
				t.Errorf("the Service serves %d, want %d", served, test.served)
			}
		})
	}
	asset := installed(t, usual, withoutCRDs+"core: {flags: {leader-election-namespace: leases}}")
	if role, binding := find[rbacv1.Role](asset, core), find[rbacv1.RoleBinding](asset, core); role.Namespace != "leases" || binding.Namespace != "leases" || binding.Subjects[0].Namespace != usual.Namespace {
		t.Errorf("the right to the Lease is in %s, bound in %s to %v", role.Namespace, binding.Namespace, binding.Subjects)
	}
}

const asked = `
imagePullSecrets: [{name: mine}]
commonLabels: {team: a, app.kubernetes.io/name: not-this}
core:
  podLabels: {tier: b, app: not-this}
  podAnnotations: {note: c}
  env: {OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4317"}
  extraEnv: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  tolerations: [{operator: Exists}]
  affinity: {podAntiAffinity: {}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  nodeSelector: {pool: system}
  priorityClassName: mine
  extraVolumes: [{name: certificate, secret: {secretName: mine}}]
  extraVolumeMounts: [{name: certificate, mountPath: /certificate}]
  serviceAccount: {annotations: {cloud: role}}
  securityContext: {runAsUser: 5}
`

// A7.10: what a cluster asks of Pods can be said, and the restricted standard holds without a word.
func TestPodsAreAsAsked(t *testing.T) {
	asset := installed(t, usual, withoutCRDs+asked)
	for _, breach := range rules.Check(asset) {
		t.Error(breach)
	}
	template := deployment(t, asset, core).Spec.Template
	got := map[string]any{
		"labels":      []string{template.Labels["team"], template.Labels["tier"], template.Labels["app"], template.Labels["app.kubernetes.io/name"]},
		"annotation":  template.Annotations["note"],
		"secrets":     template.Spec.ImagePullSecrets,
		"tolerations": template.Spec.Tolerations,
		"affinity":    template.Spec.Affinity.PodAntiAffinity != nil,
		"spread":      template.Spec.TopologySpreadConstraints[0].TopologyKey,
		"nodes":       template.Spec.NodeSelector,
		"priority":    template.Spec.PriorityClassName,
		"volumes":     []string{template.Spec.Volumes[0].Name, template.Spec.Volumes[1].Name},
		"mounts":      template.Spec.Containers[0].VolumeMounts[1].MountPath,
		"user":        *template.Spec.Containers[0].SecurityContext.RunAsUser,
		"env":         template.Spec.Containers[0].Env[:2],
		"from":        template.Spec.Containers[0].Env[2].ValueFrom.FieldRef.FieldPath,
		"account":     find[corev1.ServiceAccount](asset, core).Annotations,
	}
	want := map[string]any{
		"labels": []string{"a", "b", core, core}, "annotation": "c", "secrets": []corev1.LocalObjectReference{{Name: "mine"}},
		"tolerations": []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, "affinity": true, "spread": "zone",
		"nodes": map[string]string{"kubernetes.io/os": "linux", "pool": "system"}, "priority": "mine", "volumes": []string{"config", "certificate"}, "mounts": "/certificate",
		"user": int64(5), "env": []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "1800MiB"}, {Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector:4317"}},
		"from": "spec.nodeName", "account": map[string]string{"cloud": "role"},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the Pod (-want +got):\n%s", difference)
	}
}

func TestImages(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0f", 32)
	for values, want := range map[string]string{
		"": "registry.k8s.io/agent-sandbox/agent-sandbox-controller:v0.0.0-dev",
		"image: {registry: example.com/mirror, tag: v1}":                                             "example.com/mirror/agent-sandbox-controller:v1",
		"image: {registry: example.com, tag: v1}\ncore: {image: {tag: v2, repository: mine}}":        "example.com/mine:v2",
		"core: {image: {registry: example.com, digest: \"" + digest + "\"}}":                         "example.com/agent-sandbox-controller:v0.0.0-dev@" + digest,
		"image: {registry: \"\"}\ncore: {image: {repository: example.com/whole/name, tag: \"1.0\"}}": "example.com/whole/name:1.0",
	} {
		if got := container(t, installed(t, usual, withoutCRDs+values), core).Image; got != want {
			t.Errorf("%s: image %s, want %s", values, got, want)
		}
	}
}

func TestAnAccountOfYourOwn(t *testing.T) {
	asset := installed(t, usual, withoutCRDs+"core: {serviceAccount: {create: false, name: mine}}\nadmissionPolicies: {reservedMetadata: {enabled: false}}")
	if find[corev1.ServiceAccount](asset, "mine") != nil {
		t.Error("it is made")
	}
	if name := deployment(t, asset, core).Spec.Template.Spec.ServiceAccountName; name != "mine" {
		t.Errorf("the Pods run as %s", name)
	}
	if subject := find[rbacv1.ClusterRoleBinding](asset, core).Subjects[0]; subject.Name != "mine" {
		t.Errorf("the rights are %s's", subject.Name)
	}
}

func TestPoliciesCanBeOffOrWarn(t *testing.T) {
	asset := installed(t, usual, withoutCRDs+"extensions: {enabled: true}\nadmissionPolicies: {reservedMetadata: {enabled: false}, warmPoolLimits: {validationActions: [Warn, Audit]}}")
	if find[admissionregistrationv1.ValidatingAdmissionPolicy](asset, "agent-sandbox-reserved-metadata") != nil {
		t.Error("the policy on reserved metadata is there")
	}
	actions := find[admissionregistrationv1.ValidatingAdmissionPolicyBinding](asset, "agent-sandbox-warm-pool-limits").Spec.ValidationActions
	if difference := cmp.Diff([]admissionregistrationv1.ValidationAction{"Warn", "Audit"}, actions); difference != "" {
		t.Error(difference)
	}
}

func TestTheConfigRollsThePods(t *testing.T) {
	const config = "config: {kube-api-burst: 1000000, disable-claim-events: false, allowed-label-domains: a.example}"
	asset := installed(t, usual, withoutCRDs+config)
	want := map[string]string{"kube-api-burst": "1000000", "disable-claim-events": "false", "allowed-label-domains": "a.example"}
	if difference := cmp.Diff(want, configMap(asset, "agent-sandbox-config")); difference != "" {
		t.Error(difference)
	}
	sums := map[string]bool{}
	for _, values := range []string{"", config, config + "\ncore: {replicas: 2}", "config: {kube-api-burst: 5}"} {
		sums[deployment(t, installed(t, usual, withoutCRDs+values), core).Spec.Template.Annotations["checksum/config"]] = true
	}
	if len(sums) != 3 || !sums[""] {
		t.Errorf("checksums %v, want one for each config, and none without", sums)
	}
}

func TestDisruptionsAndTraffic(t *testing.T) {
	asset := installed(t, usual, withoutCRDs+"core: {replicas: 2, podDisruptionBudget: {enabled: true, maxUnavailable: 50%}}\nnetworkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {}}], egress: [{ports: [{port: 6443}]}]}")
	if budget := find[policyv1.PodDisruptionBudget](asset, core); *budget.Spec.MaxUnavailable != intstr.FromString("50%") {
		t.Errorf("%v may be missing", budget.Spec.MaxUnavailable)
	}
	template := deployment(t, asset, core).Spec.Template
	policy := find[networkingv1.NetworkPolicy](asset, core).Spec
	if template.Labels["app"] != policy.PodSelector.MatchLabels["app"] {
		t.Errorf("it selects %v", policy.PodSelector)
	}
	if len(policy.PolicyTypes) != 2 || len(policy.Egress) != 1 || len(policy.Ingress) != 1 || len(policy.Ingress[0].From) != 1 || policy.Ingress[0].Ports[0].Port.StrVal != "metrics" {
		t.Errorf("the policy is %+v", policy)
	}
	// Without rules for what goes out, nothing is said about it: an empty list would cut the controller off the API server.
	open := find[networkingv1.NetworkPolicy](installed(t, usual, withoutCRDs+"networkPolicy: {enabled: true}"), core).Spec
	if difference := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, open.PolicyTypes); difference != "" {
		t.Error(difference)
	}
}

func TestScrapesAreAllowedAsTheFlagsAsk(t *testing.T) {
	const secure = withoutCRDs + "serviceMonitor: {enabled: true, labels: {release: mine}}\ncore: {flags: {metrics-secure-serving: true, metrics-authorization: true}}"
	endpoint := func(values string) map[string]any {
		monitor := monitors(t, values)["ServiceMonitor "+core]
		return monitor["spec"].(map[string]any)["endpoints"].([]any)[0].(map[string]any)
	}
	want := map[string]any{"port": "metrics", "path": "/metrics", "honorLabels": true, "interval": "30s", "scrapeTimeout": "10s"}
	if difference := cmp.Diff(want, endpoint(withoutCRDs+"serviceMonitor: {enabled: true}")); difference != "" {
		t.Errorf("the endpoint (-want +got):\n%s", difference)
	}
	want["scheme"], want["tlsConfig"] = "https", map[string]any{"insecureSkipVerify": true}
	want["bearerTokenFile"] = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	if difference := cmp.Diff(want, endpoint(secure)); difference != "" {
		t.Errorf("the secure endpoint (-want +got):\n%s", difference)
	}
	asset := installed(t, usual, secure)
	rights := find[rbacv1.ClusterRole](asset, core+"-metrics-authorization")
	if rights == nil || find[rbacv1.ClusterRoleBinding](asset, core+"-metrics-authorization") == nil {
		t.Fatal("the controller may not ask who scrapes it")
	}
	for _, breach := range rules.Check(asset) {
		t.Error(breach)
	}
	// The monitor finds the Service.
	labels := find[corev1.Service](asset, core).Labels
	selector := monitors(t, secure)["ServiceMonitor "+core]["spec"].(map[string]any)["selector"].(map[string]any)["matchLabels"].(map[string]any)
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("it selects %s=%v, the Service has %v", key, value, labels)
		}
	}
}

// The metrics and labels of the alerts are those of the contract in docs/metrics.md.
func TestAlertsAreOnMetricsThatExist(t *testing.T) {
	document, err := os.ReadFile(root + "/docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(agent_sandbox\\w+)` \\| \\w+ \\| \\w+ \\| ([a-z_, ]*) \\|").FindAllStringSubmatch(string(document), -1) {
		known[row[1]] = strings.Split(row[2], ", ")
	}
	names := map[string]bool{}
	for _, object := range monitors(t, everything+withoutCRDs) {
		if object["kind"] != "PrometheusRule" {
			continue
		}
		for _, group := range object["spec"].(map[string]any)["groups"].([]any) {
			for _, rule := range group.(map[string]any)["rules"].([]any) {
				fields := rule.(map[string]any)
				names[fields["alert"].(string)] = true
				checkExpression(t, fields["expr"].(string), known)
				annotations := fields["annotations"].(map[string]any)
				if annotations["summary"] == nil || annotations["description"] == nil || fields["labels"].(map[string]any)["severity"] == nil {
					t.Errorf("%v says too little", fields)
				}
			}
		}
	}
	if len(names) != 7 {
		t.Errorf("the alerts are %v", names)
	}
}

func checkExpression(t *testing.T, expression string, known map[string][]string) {
	t.Helper()
	metrics := regexp.MustCompile(`(agent_sandbox\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expression, -1)
	if len(metrics) == 0 {
		t.Errorf("%s reads none of our metrics", expression)
	}
	for _, match := range metrics {
		labels, ok := known[strings.TrimSuffix(match[1], "_bucket")]
		if !ok {
			t.Errorf("%s reads %s, which docs/metrics.md does not know", expression, match[1])
		}
		// By these a scrape tells targets apart, and le is that of a bucket.
		labels = append(slices.Clone(labels), "job", "namespace", "le")
		used := regexp.MustCompile(`(\w+)=`).FindAllStringSubmatch(match[2], -1)
		for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
			used = append(used, regexp.MustCompile(`(\w+)`).FindAllStringSubmatch(by[1], -1)...)
		}
		for _, label := range used {
			if !slices.Contains(labels, label[1]) {
				t.Errorf("%s: %s has no label %s", expression, match[1], label[1])
			}
		}
	}
	if strings.Count(expression, "(") != strings.Count(expression, ")") {
		t.Errorf("%s: parentheses", expression)
	}
}

func TestNotesSayWhatIsInstalled(t *testing.T) {
	notes := func(values string) string {
		return files(t, usual, parsed(t, values))["agent-sandbox/templates/NOTES.txt"]
	}
	for values, want := range map[string][]string{
		"":                            {"rollout status deployment/" + core, "--set extensions.enabled=true", "stay, with every Sandbox"},
		"extensions: {enabled: true}": {"rollout status deployment/" + core, "rollout status deployment/" + extensions},
		withoutCRDs:                   {"are not of this release"},
	} {
		for _, text := range want {
			if !strings.Contains(notes(values), text) {
				t.Errorf("%q: the notes lack %q:\n%s", values, text, notes(values))
			}
		}
	}
}
