package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

func TestComponentArgs(t *testing.T) {
	cases := []struct {
		name   string
		values []string
		want   map[string][]string
		bad    bool
	}{
		{"none", nil, map[string][]string{}, false},
		{"two for one component", []string{"etcd=--a=1", "etcd=-b"}, map[string][]string{"etcd": {"--a=1", "-b"}}, false},
		{"no flag", []string{"etcd"}, nil, true},
		{"a value in place of a flag", []string{"etcd=1"}, nil, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := componentArgs(c.values)
			if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.bad {
				t.Errorf("error %v; args (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestShellQuote(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"a plain path", "/a/b-c_1.kubeconfig", "/a/b-c_1.kubeconfig"},
		{"a blank", "/a b", "'/a b'"},
		{"a quote", "/a'b", `'/a'\''b'`},
		{"a variable", "/$HOME", "'/$HOME'"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := shellQuote(c.in); got != c.want {
				t.Errorf("shellQuote(%q) = %s, want %s", c.in, got, c.want)
			}
		})
	}
}

func TestParseSignal(t *testing.T) {
	cases := []struct {
		name, in string
		want     syscall.Signal
	}{
		{"a short name", "KILL", syscall.SIGKILL},
		{"a full name", "SIGTERM", syscall.SIGTERM},
		{"small letters", "stop", syscall.SIGSTOP},
		{"no signal", "nonsense", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseSignal(c.in)
			if got != c.want || (err != nil) != (c.want == 0) {
				t.Errorf("parseSignal(%q) = %v, %v; want %v", c.in, got, err, c.want)
			}
		})
	}
}

func TestAProgramsExitCodeIsOurs(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		told string
	}{
		"of a program that failed":   {runAttached(exec.Command("sh", "-c", "exit 7")), 7, ""},
		"of one that a signal ended": {runAttached(exec.Command("sh", "-c", "kill -9 $$")), 1, "devcluster: signal: killed\n"},
		"of one that is not there":   {runAttached(exec.Command("/no/such/program")), 1, "devcluster: fork/exec /no/such/program: no such file or directory\n"},
		"of something that we did":   {errors.New("no"), 1, "devcluster: no\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := report(&out, c.err); code != c.code || out.String() != c.told {
				t.Errorf("exit code %d and %q, want %d and %q", code, out.String(), c.code, c.told)
			}
		})
	}
}

func TestAnEmptyNameIsNoCluster(t *testing.T) {
	root := newRoot()
	root.SetArgs([]string{"status", "--name="})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("got %v, want an error that names the flag", err)
	}
}

func exampleStatus() devcluster.Status {
	return devcluster.Status{
		Name: "dev", Server: "https://127.0.0.1:20001", Kubeconfig: "/k", Nodes: 2,
		Components: []devcluster.ComponentStatus{
			{Name: "etcd", State: devcluster.Healthy, PID: 7, Port: 20002, UpSeconds: 61.5},
			{Name: "provisioner", State: devcluster.Dead},
		},
	}
}

func TestStatusAsText(t *testing.T) {
	var out bytes.Buffer
	if err := printStatuses(&out, formatText, []devcluster.Status{exampleStatus()}); err != nil {
		t.Fatal(err)
	}
	want := "dev: https://127.0.0.1:20001, 2 simulated nodes, KUBECONFIG=/k\n" +
		"  COMPONENT    PID  PORT   UP    STATE    \n" +
		"  etcd         7    20002  1m1s  healthy  \n" +
		"  provisioner  -    -      -     dead     \n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusAsJSON(t *testing.T) {
	var out bytes.Buffer
	want := []devcluster.Status{exampleStatus()}
	if err := printStatuses(&out, formatJSON, want); err != nil {
		t.Fatal(err)
	}
	var got []devcluster.Status
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudge(t *testing.T) {
	cases := []struct {
		name     string
		statuses []devcluster.Status
		good     bool
	}{
		{"no cluster", nil, false},
		{"all healthy", []devcluster.Status{{Healthy: true}, {Healthy: true}}, true},
		{"one is not", []devcluster.Status{{Healthy: true}, {}}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := judge(c.statuses); (err == nil) != c.good {
				t.Errorf("judge = %v, want good: %t", err, c.good)
			}
		})
	}
}
