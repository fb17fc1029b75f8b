package integration_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// call runs the controller's binary to its end.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

func TestVersionNamesProgramCommitAndPlatform(t *testing.T) {
	code, stdout, stderr := call(t, "--version")
	want := regexp.MustCompile(`^agent-sandbox-controller \S+ \(commit (?:[0-9a-f]{40}|unknown), built \S+, go1\S+ linux/\w+\)\n$`)
	if code != 0 || !want.MatchString(stdout) || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q: want 0 and %s", code, stdout, stderr, want)
	}
}

func TestHelpGroupsTheFlags(t *testing.T) {
	code, stdout, stderr := call(t, "--help")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q: want 0 and nothing", code, stderr)
	}
	for _, want := range []string{
		"Usage:\n  agent-sandbox-controller [flags]", "Leader election flags:", "Metrics flags:", "API client flags:",
		"Health flags:", "Logging flags:", "Sandboxes flags:", "Other flags:", "--sandbox-concurrent-workers", "--leader-elect-retry-period",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("help lacks %q:\n%s", want, stdout)
		}
	}
}

func TestWrongFlagsEndWithOneLine(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		want []string
	}{
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
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(t, c.args...)
			if code != c.code || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
				t.Errorf("exit code %d, stdout %q, stderr %q: want %d and one line on stderr", code, stdout, stderr, c.code)
			}
			for _, want := range append(c.want, "agent-sandbox-controller: ") {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q lacks %q", stderr, want)
				}
			}
		})
	}
}

func TestProbesAndMetricsAnswer(t *testing.T) {
	controller, _ := startController(t)
	cases := map[string]string{
		controller.HealthURL():  "ok",
		controller.ReadyURL():   "ok",
		controller.MetricsURL(): `rest_client_requests_total{code="200"`,
	}
	for url, want := range cases {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s answers %s, %v: want 200 with %q in\n%.2000s", url, response.Status, err, want, body)
		}
	}
}
