package integration_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

func TestThePublishedBlockOfFlagsStartsTheExtensions(t *testing.T) {
	testkit.StartKubelet(t, apiServer.Config)
	startController(t)
	controller, book := startExtensions(t, append(highThroughput(), "--sandbox-claim-concurrent-workers=1200")...)
	pool := newPool(t, 1)
	fixture.Must(t, user, pool, await.Members(1))
	claim := fixture.Claim(pool, "claim")
	fixture.Create(t, user, claim)
	served := fixture.Must(t, user, claim, await.Served())
	stopController(t, controller)
	checkLog(t, book)

	if name, written := served.Annotations[extensionsv1beta1.AnnotationSandboxName]; written {
		t.Errorf("--disable-claim-observability-annotations, and the claim says that it was given %s", name)
	}
	checkSaidOnce(t, book, `"flag":"extensions","usage":"This binary runs the extensions`, `"flag":"disable-sandbox-events"`,
		"--sandbox-claim-concurrent-workers=1200, --sandbox-warm-pool-concurrent-workers=4 and --sandbox-template-concurrent-workers=1: more than 1000 workers")
	if strings.Contains(book.String(), `"flag":"sandbox-warm-pool-max-refill-rate"`) {
		t.Error("a flag that has an effect is said to have none")
	}
}

// newPool creates a pool and its template in a namespace of their own.
func newPool(t *testing.T, replicas int32) *extensionsv1beta1.SandboxWarmPool {
	t.Helper()
	template := fixture.Template(testkit.Namespace(t, user), "template")
	fixture.Create(t, user, template)
	pool := fixture.Pool(template, "pool", replicas)
	fixture.Create(t, user, pool)
	return pool
}

// sharedFlags have an effect in both controllers.
func sharedFlags(certificates string) map[string]string {
	return map[string]string{
		"cache-label-selectors":        "true",
		"kube-api-qps":                 "500",
		"kube-api-burst":               "1000",
		"api-connections":              "2",
		"separate-watch-connection":    "true",
		"leader-elect-lease-duration":  "14s",
		"leader-elect-renew-deadline":  "9s",
		"leader-elect-retry-period":    "400ms",
		"metrics-secure-serving":       "true",
		"metrics-cert-dir":             certificates,
		"metrics-authorization":        "true",
		"tls-min-version":              "VersionTLS12",
		"tls-cipher-suites":            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"enable-tracing":               "true",
		"enable-pprof":                 "true",
		"enable-pprof-debug":           "true",
		"pprof-block-profile-rate":     "-1",
		"pprof-mutex-profile-fraction": "5",
		"zap-devel":                    "false",
		"zap-encoder":                  "json",
		"zap-log-level":                "info",
		"zap-stacktrace-level":         "panic",
		"zap-time-encoding":            "iso8601",
		"kubeconfig":                   "", // this one and those that follow are set by whoever starts a controller
		"leader-elect":                 "",
		"leader-election-namespace":    "",
		"health-probe-bind-address":    "",
		"metrics-bind-address":         "",
	}
}

// coreFlags have an effect in the core's controller alone, extensionsFlags in the other alone, and neutralFlags in neither.
func coreFlags() map[string]string {
	return map[string]string{
		"sandbox-concurrent-workers":  "3",
		"disable-sandbox-events":      "true",
		"sandbox-write-behind-window": "5ms",
		"cluster-domain":              "cluster.example",
	}
}

func extensionsFlags() map[string]string {
	return map[string]string{
		"sandbox-claim-concurrent-workers":                 "3",
		"sandbox-warm-pool-concurrent-workers":             "2",
		"sandbox-template-concurrent-workers":              "2",
		"router-namespace":                                 "routers",
		"sandbox-warm-pool-max-batch-size":                 "10",
		"sandbox-warm-pool-max-refill-rate":                "12.5",
		"sandbox-warm-pool-replenish-delay":                "10s",
		"enable-warm-pool-eviction":                        "false",
		"sandbox-warm-pool-readiness-grace-period":         "2m",
		"sandbox-warm-pool-unschedulable-recheck-interval": "30s",
		"disable-claim-events":                             "true",
		"disable-claim-observability-annotations":          "true",
	}
}

func neutralFlags() map[string]string { return map[string]string{"extensions": "true"} }

// arguments sets the flags that have a value here.
func arguments(sets ...map[string]string) []string {
	var args []string
	for _, set := range sets {
		for name, value := range set {
			if value != "" {
				args = append(args, "--"+name+"="+value)
			}
		}
	}
	return args
}

func TestOneBlockOfEveryFlagStartsEither(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	common := sharedFlags(certificates(t))
	args := arguments(common, coreFlags(), extensionsFlags(), neutralFlags())
	core, coreBook := startController(t, args...)
	extensions, extensionsBook := startExtensions(t, args...)
	for _, url := range []string{core.ReadyURL(), extensions.ReadyURL()} {
		if code, body := get(t, url); code != http.StatusOK {
			t.Errorf("%s answers %d %s", url, code, body)
		}
	}
	for _, c := range []struct {
		name    string
		book    *logBook
		foreign map[string]string
	}{{"the core", coreBook, extensionsFlags()}, {"the extensions", extensionsBook, coreFlags()}} {
		want := slices.AppendSeq(slices.Collect(maps.Keys(c.foreign)), maps.Keys(neutralFlags()))
		slices.Sort(want)
		if difference := cmp.Diff(want, saidToHaveNoEffect(c.book)); difference != "" {
			t.Errorf("flags that have no effect in %s (-want +said):\n%s", c.name, difference)
		}
	}
}

// The tables above are complete: a flag that is new stands in one of them.
func TestTheExtensionsHaveNoOtherFlags(t *testing.T) {
	_, help, _ := call(t, extensionsBinary, "--help")
	var has []string
	for _, match := range regexp.MustCompile(`(?m)^ +--([a-z0-9-]+)`).FindAllStringSubmatch(help, -1) {
		has = append(has, match[1])
	}
	slices.Sort(has)
	want := []string{"version"}
	for _, set := range []map[string]string{sharedFlags(""), coreFlags(), extensionsFlags(), neutralFlags()} {
		want = slices.AppendSeq(want, maps.Keys(set))
	}
	slices.Sort(want)
	if difference := cmp.Diff(want, has); difference != "" {
		t.Errorf("flags (-tables +help):\n%s", difference)
	}
}

// saidToHaveNoEffect lists the flags of which the log says so, as often as it does.
func saidToHaveNoEffect(book *logBook) []string {
	var flags []string
	said := regexp.MustCompile(`"msg":"Flag has no effect in this binary","flag":"([^"]+)"`)
	for _, line := range book.lines() {
		if match := said.FindStringSubmatch(line); match != nil {
			flags = append(flags, match[1])
		}
	}
	slices.Sort(flags)
	return flags
}

// certificates returns a directory with what serves metrics.
func certificates(t *testing.T) string {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}
