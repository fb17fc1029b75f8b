package program

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/agent-sandbox/shared/app"
)

// settled parses arguments and settles them beside a file and an environment.
func settled(t *testing.T, file string, environment map[string]string, args ...string) (*flags, error) {
	t.Helper()
	f := newFlags()
	if file != "" {
		path := filepath.Join(t.TempDir(), "router.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config="+path)
	}
	given, err := app.Parse(Name, f.groups(), args)
	if err != nil {
		t.Fatal(err)
	}
	return f, settle(given, f.file, func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	})
}

func TestWhichSettingCounts(t *testing.T) {
	environment := map[string]string{"PROXY_TIMEOUT_SECONDS": "90.5", "CLUSTER_DOMAIN": "env.example"}
	for name, test := range map[string]struct {
		file        string
		environment map[string]string
		args        []string
		timeout     time.Duration
		domain      string
	}{
		"the default":                    {timeout: 180 * time.Second, domain: "cluster.local"},
		"the environment":                {environment: environment, timeout: 90500 * time.Millisecond, domain: "env.example"},
		"the file before it":             {file: "proxy-timeout: 60s\n", environment: environment, timeout: time.Minute, domain: "env.example"},
		"the command line before both":   {file: "proxy-timeout: 60s\n", environment: environment, args: []string{"--proxy-timeout=5s", "--cluster-domain=cluster.local"}, timeout: 5 * time.Second, domain: "cluster.local"},
		"an empty variable is none":      {environment: map[string]string{"PROXY_TIMEOUT_SECONDS": ""}, timeout: 180 * time.Second, domain: "cluster.local"},
		"an empty file says nothing":     {file: "# nothing\n", timeout: 180 * time.Second, domain: "cluster.local"},
		"a default that is said is said": {file: "cluster-domain: cluster.local\n", environment: environment, timeout: 90500 * time.Millisecond, domain: "cluster.local"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := settled(t, test.file, test.environment, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if f.proxy.Timeout != test.timeout || f.cache.clusterDomain != test.domain {
				t.Errorf("timeout %s, want %s; domain %s, want %s", f.proxy.Timeout, test.timeout, f.cache.clusterDomain, test.domain)
			}
		})
	}
}

func TestAFileHoldsEveryKindOfSetting(t *testing.T) {
	f, err := settled(t, "authz-mode: scoped-token\nmax-request-body-bytes: 10737418240\ncache-enabled: false\nauthz-allowed-origins: [\"https://a.example\", \"https://b.example\"]\nzap-log-level: debug\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.authz.mode != "scoped-token" || f.proxy.Limits.Body != 10737418240 || f.cache.enabled {
		t.Errorf("mode %s, body %d, cache %t", f.authz.mode, f.proxy.Limits.Body, f.cache.enabled)
	}
	if difference := cmp.Diff([]string{"https://a.example", "https://b.example"}, f.authz.origins); difference != "" {
		t.Errorf("origins (-want +got):\n%s", difference)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for name, test := range map[string]struct {
		file        string
		environment map[string]string
		want        string
	}{
		"an unknown key":              {file: "http_bind_address: :1\n", want: `unknown key "http_bind_address"`},
		"a file within the file":      {file: "config: x\n", want: `unknown key "config"`},
		"a key twice":                 {file: "access-log: true\naccess-log: false\n", want: "already set"},
		"a value of another type":     {file: "max-connections: many\n", want: "key max-connections"},
		"a map":                       {file: "authz-mode: {a: b}\n", want: "key authz-mode: must be a word"},
		"nothing":                     {file: "authz-mode:\n", want: "key authz-mode: must be a word"},
		"a list in place of the keys": {file: "- a\n", want: "--config="},
		"a variable that is none":     {environment: map[string]string{"PROXY_TIMEOUT_SECONDS": "long"}, want: `PROXY_TIMEOUT_SECONDS="long", which stands for --proxy-timeout: must be a number of seconds`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settled(t, test.file, test.environment)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestBoundsOfFlags(t *testing.T) {
	short := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(short, []byte("too short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                            "",
		"--http-bind-address=nowhere": "--http-bind-address=nowhere: must be an address",
		"--http-bind-address=0":       "--http-bind-address=0: needs --https-bind-address",
		"--https-bind-address=:8443":  `--tls-cert-file="": must name a file`,
		"--https-bind-address=:8443 --tls-cert-file=a": `--tls-key-file="": must name a file`,
		"--mtls-mode=some":     "--mtls-mode=some: must be one of off, optional, required",
		"--mtls-mode=optional": "--mtls-mode=optional: needs --https-bind-address",
		"--mtls-mode=optional --https-bind-address=:1 --tls-cert-file=a --tls-key-file=b":                        "needs --tls-client-ca-file",
		"--mtls-mode=required --https-bind-address=:1 --tls-cert-file=a --tls-key-file=b --tls-client-ca-file=c": "needs --http-bind-address=0",
		"--shutdown-timeout=0s":                                               "--shutdown-timeout=0s: must be above 0",
		"--max-connections=-1":                                                "--max-connections=-1: must be 0 or above",
		"--max-concurrent-requests=-1":                                        "--max-concurrent-requests=-1: must be 0 or above",
		"--max-request-body-bytes=-1":                                         "--max-request-body-bytes=-1: must be 0 or above",
		"--path-routing-prefix=s":                                             "--path-routing-prefix=s: must be a path",
		"--path-routing-prefix=/s/":                                           "--path-routing-prefix=/s/: must be a path",
		"--path-routing-prefix=/s%20":                                         "must be a path",
		"--path-routing-prefix=/a/b":                                          "",
		"--cache-namespace=A":                                                 "--cache-namespace=A: must be the name of a namespace",
		"--cache-namespace=a --cache-enabled=false":                           "--cache-namespace=a: needs --cache-enabled",
		"--cluster-domain=a_b":                                                "--cluster-domain=a_b: must be a DNS name",
		"--proxy-timeout=-1s":                                                 "--proxy-timeout=-1s: must be 0 or above",
		"--response-header-timeout=-1s":                                       "--response-header-timeout=-1s: must be 0 or above",
		"--upstream-idle-timeout=-1s":                                         "--upstream-idle-timeout=-1s: must be 0 or above",
		"--upstream-connect-timeout=0":                                        "--upstream-connect-timeout=0s: must be above 0",
		"--upstream-max-retries=21":                                           "--upstream-max-retries=21: must be 0 to 20",
		"--upstream-retry-initial-delay=0":                                    "--upstream-retry-initial-delay=0s: must be above 0",
		"--upstream-retry-initial-delay=1s":                                   "--upstream-retry-max-delay=800ms: must not be below --upstream-retry-initial-delay (1s)",
		"--upstream-max-idle-connections=-1":                                  "--upstream-max-idle-connections=-1: must be 0 or above",
		"--upstream-max-idle-connections-per-sandbox=0":                       "--upstream-max-idle-connections-per-sandbox=0: must be above 0",
		"--authz-mode=some":                                                   "--authz-mode=some: must be one of allow-all, tokenreview, subject-access-review, scoped-token",
		"--authz-mode=tokenreview --authz-tokenreview-ttl=0":                  "--authz-tokenreview-ttl=0s: must be above 0",
		"--authz-mode=subject-access-review --authz-tokenreview-cache-size=0": "--authz-tokenreview-cache-size=0: must be above 0",
		"--authz-mode=subject-access-review --cache-enabled=false":            "--authz-mode=subject-access-review: needs --cache-enabled",
		"--authz-mode=scoped-token":                                           `--authz-scoped-token-secret-file="": must name a file`,
		"--authz-mode=scoped-token --authz-scoped-token-secret-file=a --authz-samesite=some":                      "--authz-samesite=some: must be one of lax, none, strict",
		"--authz-mode=scoped-token --authz-scoped-token-secret-file=a --authz-cookie-name=a;b":                    "--authz-cookie-name=a;b: must be the name of a cookie",
		"--authz-mode=scoped-token --authz-scoped-token-secret-file=a --authz-allowed-origins=https://a.example/": "must be an origin as https://example.com",
		"--metrics-bind-address=x":                "--metrics-bind-address=x: must be an address",
		"--health-probe-bind-address=x":           "--health-probe-bind-address=x: must be an address",
		"--enable-pprof --metrics-bind-address=0": "--enable-pprof=true: needs the metrics server",
	} {
		t.Run(args, func(t *testing.T) {
			f, err := settled(t, "", nil, strings.Fields(args)...)
			if err == nil {
				err = f.validate()
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	f, err := settled(t, "", nil, "--authz-mode=scoped-token", "--authz-scoped-token-secret-file="+short)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.authz.readSecret(); err == nil || !strings.Contains(err.Error(), "must hold 32 bytes at least, and holds 9") {
		t.Errorf("a secret that is short: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"--help":               {app.ExitOK, "--authz-mode"},
		"--version":            {app.ExitOK, "sandbox-router"},
		"--unknown":            {app.ExitUsage, "unknown flag: --unknown; see --help"},
		"extra":                {app.ExitUsage, `unexpected argument "extra"`},
		"--max-connections=x":  {app.ExitUsage, "--max-connections=x: must be"},
		"--max-connections=-1": {app.ExitFailed, "--max-connections=-1: must be 0 or above"},
		"--config=nowhere":     {app.ExitFailed, "--config: open nowhere"},
		"--health-probe-bind-address=0 --metrics-bind-address=0": {app.ExitFailed, "finding the API server"},
	} {
		var out, complaints bytes.Buffer
		code := Run(t.Context(), strings.Fields(args), &out, &complaints)
		if text := out.String() + complaints.String(); code != want.code || !strings.Contains(text, want.says) || want.code != app.ExitOK && strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, want.code, text)
		}
	}
}

func TestTheRouterServesAndStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, complaints bytes.Buffer
	args := []string{"--cache-enabled=false", "--http-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--zap-log-level=error"}
	if code := Run(ctx, args, &out, &complaints); code != app.ExitOK {
		t.Errorf("exit code %d: %s", code, complaints.String())
	}
}

// What a start registers, and what documents tell of, is the same.
func TestTheMetricsOfTheContract(t *testing.T) {
	registry := prometheus.NewRegistry()
	if err := RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if err := RegisterMetrics(registry); err == nil {
		t.Error("everything could be registered twice")
	}
}
