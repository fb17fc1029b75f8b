package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	cliflag "k8s.io/component-base/cli/flag"
)

// program is one that could run, were it not for the flags.
func program(workers *int) Program {
	return Program{
		Name:    "test-controller",
		Summary: "test-controller controls tests.",
		Scheme:  runtime.NewScheme(),
		Options: NewOptions(),
		AddFlags: func(groups *cliflag.NamedFlagSets) {
			groups.FlagSet("Tests").IntVar(workers, "test-workers", 1, "Tests at the same time.")
		},
		AddInertFlags: func(fs *pflag.FlagSet) { fs.Int("other-workers", 1, "Of another binary.") },
		Validate:      func() error { return AboveZero("test-workers", *workers) },
		Warnings:      func() []string { return nil },
		Setup:         func(context.Context, Environment) error { return errors.New("not reached") },
	}
}

func TestRunEndsWithOneLineAndACode(t *testing.T) {
	cases := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"an unknown flag": {
			args: []string{"--no-such-flag"}, code: ExitUsage,
			stderr: "test-controller: unknown flag: --no-such-flag; see --help\n",
		},
		"a value that cannot be read": {
			args: []string{"--test-workers=many"}, code: ExitUsage,
			stderr: "test-controller: --test-workers=many: must be a whole number; see --help\n",
		},
		"an argument that is no flag": {
			args: []string{"start"}, code: ExitUsage,
			stderr: "test-controller: unexpected argument \"start\": everything is set by flags; see --help\n",
		},
		"a program's own flag out of bounds": {
			args: []string{"--test-workers=0"}, code: ExitFailed,
			stderr: "test-controller: --test-workers=0: must be above 0\n",
		},
		"a burst out of bounds": {
			args: []string{"--kube-api-burst=0"}, code: ExitFailed,
			stderr: "test-controller: --kube-api-burst=0: must be above 0\n",
		},
		"a rate that is neither a limit nor none": {
			args: []string{"--kube-api-qps=0"}, code: ExitFailed,
			stderr: "test-controller: --kube-api-qps=0: must be above 0, or -1 for no limit\n",
		},
		"a rate that is no number": {
			args: []string{"--kube-api-qps=NaN"}, code: ExitFailed,
			stderr: "test-controller: --kube-api-qps=NaN: must be above 0, or -1 for no limit\n",
		},
		"a renew deadline above the lease": {
			args: []string{"--leader-elect-renew-deadline=20s"}, code: ExitFailed,
			stderr: "test-controller: --leader-elect-lease-duration=15s: must be above --leader-elect-renew-deadline (20s)\n",
		},
		"an unknown TLS version": {
			args: []string{"--tls-min-version=SSL3"}, code: ExitFailed,
			stderr: "test-controller: --tls-min-version=SSL3: must be one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13\n",
		},
		"a flag of another binary, with a value that cannot be read": {
			args: []string{"--other-workers=many"}, code: ExitUsage,
			stderr: "test-controller: --other-workers=many: must be a whole number; see --help\n",
		},
		"no connection at all": {
			args: []string{"--api-connections=0"}, code: ExitFailed,
			stderr: "test-controller: --api-connections=0: must be above 0\n",
		},
		"certificates that are not there": {
			args: []string{"--metrics-cert-dir=no-such-dir"}, code: ExitFailed,
			stderr: "test-controller: --metrics-cert-dir=no-such-dir: must hold tls.crt: stat no-such-dir/tls.crt: no such file or directory\n",
		},
		"an address that is none": {
			args: []string{"--metrics-bind-address=nonsense"}, code: ExitFailed,
			stderr: "test-controller: --metrics-bind-address=nonsense: must be an address as :8080, or 0 for none: address nonsense: missing port in address\n",
		},
		"an address for probes that is none": {
			args: []string{"--health-probe-bind-address=:port"}, code: ExitFailed,
			stderr: "test-controller: --health-probe-bind-address=:port: must be an address as :8080, or 0 for none: lookup tcp/port: unknown port\n",
		},
		"profiles without a server for them": {
			args: []string{"--enable-pprof", "--metrics-bind-address=0"}, code: ExitFailed,
			stderr: "test-controller: --enable-pprof=true: needs the metrics server, which --metrics-bind-address=0 turns off\n",
		},
		"several mistakes are told one at a time": {
			args: []string{"--kube-api-burst=0", "--test-workers=0"}, code: ExitFailed,
			stderr: "test-controller: --kube-api-burst=0: must be above 0\n",
		},
		"the version":              {args: []string{"--version"}, stdout: "test-controller "},
		"help, in groups":          {args: []string{"--help"}, stdout: "\nTests flags:\n"},
		"help knows every option":  {args: []string{"--help"}, stdout: "--leader-elect-lease-duration"},
		"help opens with the gist": {args: []string{"--help"}, stdout: "test-controller controls tests.\n\nUsage:\n  test-controller [flags]\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var workers int
			var stdout, stderr bytes.Buffer
			code := Run(context.Background(), program(&workers), tc.args, &stdout, &stderr)
			if code != tc.code || stderr.String() != tc.stderr || !strings.Contains(stdout.String(), tc.stdout) {
				t.Errorf("code %d, stderr %q, stdout:\n%s", code, stderr.String(), stdout.String())
			}
		})
	}
}

func TestLeaderElectionNeedsANamespace(t *testing.T) {
	inPod := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(inPod, []byte("agent-sandbox-system"), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "namespace")
	cases := map[string]struct {
		options LeaderElectionOptions
		file    string
		fails   bool
	}{
		"in a Pod it is the Pod's":           {LeaderElectionOptions{Enabled: true}, inPod, false},
		"outside it must be given":           {LeaderElectionOptions{Enabled: true}, outside, true},
		"outside it may be given":            {LeaderElectionOptions{Enabled: true, Namespace: "ns"}, outside, false},
		"a single replica has no use for it": {LeaderElectionOptions{}, outside, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.options.findNamespace(tc.file); (err != nil) != tc.fails {
				t.Errorf("findNamespace = %v", err)
			}
		})
	}
}
