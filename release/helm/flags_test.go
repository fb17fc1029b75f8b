package helm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// keys are those of the values, by the names of the controllers.
var keys = map[string]string{core: "core", extensions: "extensions"}

// A7.4: Helm's "default" and "if" take false, 0 and "" for unset; what a user sets is kept all the same.
func TestWhatIsSetExplicitlyIsKept(t *testing.T) {
	for set, want := range map[string]string{
		"core.flags.leader-elect=false":                              "--leader-elect=false",
		"core.flags.kube-api-qps=-1":                                 "", // the default, which the ConfigMap may change
		"core.flags.kube-api-qps=0.5":                                "--kube-api-qps=0.5",
		"core.flags.pprof-mutex-profile-fraction=0":                  "--pprof-mutex-profile-fraction=0",
		"core.flags.pprof-block-profile-rate=0":                      "--pprof-block-profile-rate=0",
		"core.flags.pprof-block-profile-rate=20000000":               "--pprof-block-profile-rate=20000000", // not 2e+07
		"extensions.flags.leader-elect=false":                        "--leader-elect=false",
		"extensions.flags.enable-warm-pool-eviction=false":           "--enable-warm-pool-eviction=false",
		"extensions.flags.sandbox-warm-pool-max-refill-rate=0":       "",
		"extensions.flags.sandbox-warm-pool-max-refill-rate=0.5":     "--sandbox-warm-pool-max-refill-rate=0.5",
		"extensions.flags.sandbox-warm-pool-max-refill-rate=1000000": "--sandbox-warm-pool-max-refill-rate=1000000",
	} {
		t.Run(set, func(t *testing.T) {
			path, value, _ := strings.Cut(set, "=")
			key, flag, _ := strings.Cut(path, ".flags.")
			enabled := fmt.Sprintf("%s%s: {enabled: true}", withoutCRDs, key)
			// Numbers are of other types from the command line than from a file.
			bySet := parsed(t, enabled)
			if err := strvals.ParseInto(set, bySet); err != nil {
				t.Fatal(err)
			}
			byFile := parsed(t, fmt.Sprintf("%s\n---\n%s: {flags: {%s: %s}}", enabled, key, flag, value))
			for how, values := range map[string]map[string]any{"--set": bySet, "--values": byFile} {
				args := arguments(files(t, usual, values))
				if want != "" && !slices.Contains(args, want) || want == "" && slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--"+flag) }) {
					t.Errorf("by %s the arguments are %v, want %q", how, args, want)
				}
			}
		})
	}
}

// arguments are those of all controllers.
func arguments(files map[string]string) []string {
	var args []string
	for _, arg := range regexp.MustCompile(`(?m)^ +- "(--[^"]+)"$`).FindAllStringSubmatch(files["agent-sandbox/templates/controllers.yaml"], -1) {
		args = append(args, arg[1])
	}
	return args
}

// A7.4, for what is no flag.
func TestZeroReplicasAndAZeroLimitAreKept(t *testing.T) {
	asset := installed(t, usual, withoutCRDs+"core: {replicas: 0, terminationGracePeriodSeconds: 0, revisionHistoryLimit: 0}\nwarmPools: {maxReplicas: 0}\nextensions: {enabled: true}")
	spec := deployment(t, asset, core).Spec
	if *spec.Replicas != 0 || *spec.Template.Spec.TerminationGracePeriodSeconds != 0 || *spec.RevisionHistoryLimit != 0 {
		t.Errorf("replicas %d, grace %d, history %d", *spec.Replicas, *spec.Template.Spec.TerminationGracePeriodSeconds, *spec.RevisionHistoryLimit)
	}
	if limit := configMap(asset, "agent-sandbox-warm-pool-limits"); limit["maxReplicas"] != "0" {
		t.Errorf("the limit of pools is %v", limit)
	}
}

// samples are values other than the defaults, by flags. What is missing here is changed by its type.
var samples = map[string]any{
	"leader-election-namespace": "elsewhere", "leader-elect-lease-duration": "40s", "leader-elect-renew-deadline": "30s", "leader-elect-retry-period": "2s",
	"metrics-bind-address": ":9090", "health-probe-bind-address": ":9091", "tls-min-version": "VersionTLS13", "kube-api-qps": 20.5,
	"tls-cipher-suites": []any{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"},
	"zap-encoder":       "console", "zap-log-level": "debug", "zap-stacktrace-level": "panic", "zap-time-encoding": "epoch",
	"sandbox-write-behind-window": "20ms", "sandbox-warm-pool-replenish-delay": "5s", "sandbox-warm-pool-readiness-grace-period": "1m30s",
	"sandbox-warm-pool-unschedulable-recheck-interval": "10s", "cluster-domain": "example.internal", "router-namespace": "routers",
}

// changed returns the flags of a controller, each with another value than its default, and the arguments that say so.
func changed(t *testing.T, key string) (flags map[string]any, want []string) {
	t.Helper()
	flags = map[string]any{}
	for flag, standard := range defaults(t, key) {
		value := samples[flag]
		switch standard := standard.(type) {
		case bool:
			value = !standard
		case float64:
			if value == nil {
				value = standard + 7
			}
		}
		if flag == "metrics-cert-dir" {
			value = certificate(t)
		}
		if value == nil {
			t.Fatalf("there is no sample for --%s", flag)
		}
		text := fmt.Sprint(value)
		if list, ok := value.([]any); ok {
			text = strings.Join([]string{list[0].(string), list[1].(string)}, ",")
		}
		if number, ok := value.(float64); ok && number > 1000 {
			text = fmt.Sprintf("%d", int(number))
		}
		flags[flag] = value
		want = append(want, "--"+flag+"="+text)
	}
	slices.Sort(want)
	return flags, want
}

func defaults(t *testing.T, key string) map[string]any {
	t.Helper()
	return ourChart(t).Values[key].(map[string]any)["flags"].(map[string]any)
}

// certificate is a directory of which the start asks only whether the files are there.
func certificate(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(directory, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestEveryFlagReachesItsController(t *testing.T) {
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			flags, want := changed(t, key)
			asset := installed(t, usual, withoutCRDs+asYAML(t, map[string]any{key: map[string]any{"enabled": true, "flags": flags}}))
			got := container(t, asset, name).Args
			slices.Sort(got)
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("arguments (-want +got):\n%s", difference)
			}
			// All flags are read and in bounds once the program looks for an API server, which it is not to find.
			if code, _, complaint := call(t, name, got...); code != 1 || !strings.Contains(complaint, "finding the API server") {
				t.Errorf("exit code %d: %s", code, complaint)
			}
		})
	}
}

func TestAFlagThatTheControllerRefusesIsSeen(t *testing.T) {
	for name, key := range keys {
		for arg, want := range map[string]string{"--no-such-flag=1": "unknown flag", "--kube-api-burst=0": "must be above 0"} {
			asset := installed(t, usual, withoutCRDs+fmt.Sprintf("%s: {enabled: true, extraArgs: [%s]}", key, arg))
			if code, _, complaint := call(t, name, container(t, asset, name).Args...); code == 0 || !strings.Contains(complaint, want) {
				t.Errorf("%s %s: exit code %d: %s", name, arg, code, complaint)
			}
		}
	}
}

// Flags of the programs that the chart has no value for.
var without = []string{
	"help", "version", // print and end
	"kubeconfig", // in a Pod, the account says it
	"extensions", // nothing acts on it
}

func TestTheValuesHaveEveryFlagAndItsDefault(t *testing.T) {
	line := regexp.MustCompile(`^\s+(?:-\w, )?--([a-z-]+)(?:\s.*?)?(?:\(default (.*)\))?$`)
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			_, help, _ := call(t, name, "--help")
			acting, _, found := strings.Cut(help, "Other controller's flags:")
			if !found {
				t.Fatal("--help does not tell the other controller's flags")
			}
			_, others, _ := strings.Cut(help, "\nOther flags:")
			want := map[string]string{}
			for text := range strings.Lines(unwrapped(acting) + unwrapped(others)) {
				if match := line.FindStringSubmatch(strings.TrimRight(text, "\n")); len(match) > 0 && !slices.Contains(without, match[1]) {
					want[match[1]] = strings.Trim(match[2], `"`)
				}
			}
			got := map[string]string{}
			for flag, value := range defaults(t, key) {
				got[flag] = helpText(value)
			}
			// The namespace of the release takes the place of that default.
			if _, ok := got["router-namespace"]; ok {
				got["router-namespace"] = "agent-sandbox-system"
			}
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("flags (-%s --help +values):\n%s", name, difference)
			}
		})
	}
}

// unwrapped joins the lines of a flag's help: all but the first are far to the right.
func unwrapped(help string) string {
	return regexp.MustCompile(`\n {12,}(\S)`).ReplaceAllString(help, " $1")
}

// helpText is a default as --help shows it: not at all, where it is the zero value.
func helpText(value any) string {
	switch text := fmt.Sprint(value); text {
	case "false", "0", "0s", "[]":
		return ""
	case "1e+06":
		return "1000000"
	default:
		return text
	}
}

func asYAML(t *testing.T, values map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
