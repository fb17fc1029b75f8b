package integration_test

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// call runs a controller's binary to its end.
func call(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// programs are the binaries by their names.
func programs() map[string]string {
	return map[string]string{install.CoreController: binary, install.ExtensionsController: extensionsBinary}
}

func TestVersionNamesProgramCommitAndPlatform(t *testing.T) {
	for name, program := range programs() {
		code, stdout, stderr := call(t, program, "--version")
		want := regexp.MustCompile(`^` + name + ` \S+ \(commit (?:[0-9a-f]{40}|unknown), built \S+, go1\S+ linux/\w+\)\n$`)
		if code != 0 || !want.MatchString(stdout) || stderr != "" {
			t.Errorf("exit code %d, stdout %q, stderr %q: want 0 and %s", code, stdout, stderr, want)
		}
	}
}

func TestHelpGroupsTheFlags(t *testing.T) {
	own := map[string][]string{
		install.CoreController:       {"Sandboxes flags:", "--sandbox-concurrent-workers"},
		install.ExtensionsController: {"Claims flags:", "Warm pools flags:", "--sandbox-claim-concurrent-workers"},
	}
	for name, program := range programs() {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(t, program, "--help")
			if code != 0 || stderr != "" {
				t.Errorf("exit code %d, stderr %q: want 0 and nothing", code, stderr)
			}
			for _, want := range append(own[name],
				"Usage:\n  "+name+" [flags]", "Leader election flags:", "Metrics flags:", "API client flags:",
				"Health flags:", "Logging flags:", "Other flags:", "Other controller's flags:", "--leader-elect-retry-period",
			) {
				if !strings.Contains(stdout, want) {
					t.Errorf("help lacks %q:\n%s", want, stdout)
				}
			}
			if strings.Contains(stdout, " \n") {
				t.Errorf("a line of help ends with blanks:\n%s", stdout)
			}
		})
	}
}

// wrongFlags are arguments that a controller refuses, and what it says.
type wrongFlags map[string]struct {
	args []string
	code int
	want []string
}

func (cases wrongFlags) check(t *testing.T, name string) {
	t.Helper()
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			code, stdout, stderr := call(t, programs()[name], c.args...)
			if code != c.code || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
				t.Errorf("exit code %d, stdout %q, stderr %q: want %d and one line on stderr", code, stdout, stderr, c.code)
			}
			for _, want := range append(c.want, name+": ") {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q lacks %q", stderr, want)
				}
			}
		})
	}
}

func TestWrongFlagsEndWithOneLine(t *testing.T) {
	wrongFlags{
		"an unknown flag":                        {[]string{"--frobnicate"}, 2, []string{"--frobnicate", "--help"}},
		"an unreadable value":                    {[]string{"--kube-api-burst=many"}, 2, []string{"--kube-api-burst", "many"}},
		"an argument that is no flag":            {[]string{"run"}, 2, []string{`"run"`}},
		"no workers":                             {[]string{"--sandbox-concurrent-workers=0"}, 1, []string{"--sandbox-concurrent-workers=0", "above 0"}},
		"no burst":                               {[]string{"--kube-api-burst=-5"}, 1, []string{"--kube-api-burst=-5", "above 0"}},
		"a rate below no limit":                  {[]string{"--kube-api-qps=-2"}, 1, []string{"--kube-api-qps=-2", "above 0", "-1"}},
		"renewing takes longer than the Lease":   {[]string{"--leader-elect-renew-deadline=20s"}, 1, []string{"--leader-elect-lease-duration=15s", "20s"}},
		"retrying takes longer than the renewal": {[]string{"--leader-elect-retry-period=11s"}, 1, []string{"--leader-elect-renew-deadline=10s", "11s"}},
		"an unknown TLS version":                 {[]string{"--tls-min-version=TLS9"}, 1, []string{"--tls-min-version=TLS9", "VersionTLS13"}},
		"a kubeconfig that is missing":           {[]string{"--kubeconfig=/nowhere"}, 1, []string{"/nowhere"}},
		"a negative window":                      {[]string{"--sandbox-write-behind-window=-1s"}, 1, []string{"--sandbox-write-behind-window=-1s", "0 or above"}},
		"a webhook flag of older releases":       {[]string{"--enable-conversion-webhook"}, 2, []string{"--enable-conversion-webhook"}},
		"the first of two that are out of bounds": {
			[]string{"--kube-api-burst=0", "--sandbox-concurrent-workers=0"}, 1, []string{"--kube-api-burst=0"},
		},
	}.check(t, install.CoreController)
}

func TestWrongFlagsOfTheExtensionsEndWithOneLine(t *testing.T) {
	wrongFlags{
		"an unknown flag":                  {[]string{"--frobnicate"}, 2, []string{"--frobnicate", "--help"}},
		"an unreadable value":              {[]string{"--sandbox-warm-pool-max-refill-rate=fast"}, 2, []string{"--sandbox-warm-pool-max-refill-rate", "fast"}},
		"a webhook flag of older releases": {[]string{"--enable-conversion-webhook"}, 2, []string{"--enable-conversion-webhook"}},
		"no workers for claims":            {[]string{"--sandbox-claim-concurrent-workers=0"}, 1, []string{"--sandbox-claim-concurrent-workers=0", "above 0"}},
		"no workers for pools":             {[]string{"--sandbox-warm-pool-concurrent-workers=-1"}, 1, []string{"--sandbox-warm-pool-concurrent-workers=-1", "above 0"}},
		"no workers for templates":         {[]string{"--sandbox-template-concurrent-workers=0"}, 1, []string{"--sandbox-template-concurrent-workers=0", "above 0"}},
		"no namespace of the router":       {[]string{"--router-namespace=a/b"}, 1, []string{"--router-namespace=a/b", "the name of a namespace"}},
		"an empty batch":                   {[]string{"--sandbox-warm-pool-max-batch-size=0"}, 1, []string{"--sandbox-warm-pool-max-batch-size=0", "above 0"}},
		"a negative rate":                  {[]string{"--sandbox-warm-pool-max-refill-rate=-0.5"}, 1, []string{"--sandbox-warm-pool-max-refill-rate=-0.5", "0 or above"}},
		"a rate that is no number":         {[]string{"--sandbox-warm-pool-max-refill-rate=NaN"}, 1, []string{"--sandbox-warm-pool-max-refill-rate=NaN", "finite"}},
		"a rate without end":               {[]string{"--sandbox-warm-pool-max-refill-rate=Inf"}, 1, []string{"--sandbox-warm-pool-max-refill-rate=+Inf", "finite"}},
		"a negative delay":                 {[]string{"--sandbox-warm-pool-replenish-delay=-1s"}, 1, []string{"--sandbox-warm-pool-replenish-delay=-1s", "0 or above"}},
		"neither yes nor no":               {[]string{"--enable-warm-pool-eviction=maybe"}, 2, []string{"--enable-warm-pool-eviction", "maybe"}},
		"no grace":                         {[]string{"--sandbox-warm-pool-readiness-grace-period=0s"}, 1, []string{"--sandbox-warm-pool-readiness-grace-period=0s", "above 0"}},
		"no pause between two looks":       {[]string{"--sandbox-warm-pool-unschedulable-recheck-interval=-1m"}, 1, []string{"--sandbox-warm-pool-unschedulable-recheck-interval=-1m0s", "above 0"}},
		"no burst":                         {[]string{"--kube-api-burst=0"}, 1, []string{"--kube-api-burst=0", "above 0"}},
		"no connections":                   {[]string{"--api-connections=0"}, 1, []string{"--api-connections=0", "above 0"}},
		"a Lease shorter than its renewal": {[]string{"--leader-elect-renew-deadline=20s"}, 1, []string{"--leader-elect-lease-duration=15s", "20s"}},
		"a kubeconfig that is missing":     {[]string{"--kubeconfig=/nowhere"}, 1, []string{"/nowhere"}},
		"the first of two that are out of bounds": {
			[]string{"--sandbox-warm-pool-max-batch-size=0", "--sandbox-claim-concurrent-workers=0"}, 1, []string{"--sandbox-claim-concurrent-workers=0"},
		},
	}.check(t, install.ExtensionsController)
}

func TestProbesAndMetricsAnswer(t *testing.T) {
	core, _ := startController(t)
	extensions, _ := startExtensions(t)
	for _, controller := range []*install.Controller{core, extensions} {
		for url, want := range map[string]string{
			controller.HealthURL():  "ok",
			controller.ReadyURL():   "ok",
			controller.MetricsURL(): `rest_client_requests_total{code="200"`,
		} {
			if code, body := get(t, url); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s answers %d: want 200 with %q in\n%.2000s", url, code, want, body)
			}
		}
	}
}
