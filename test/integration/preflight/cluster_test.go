package preflight_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/agent-sandbox/shared/testkit"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// finding is one of the command's, as it writes them for programs.
type finding struct {
	Check   string   `json:"check"`
	Result  string   `json:"result"`
	Object  string   `json:"object"`
	Meaning string   `json:"meaning"`
	WayOut  []string `json:"wayOut"`
}

// cluster is an API server of a test's own.
type cluster struct {
	config     *rest.Config
	kubeconfig string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	server := testkit.NewAPIServer(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	return cluster{server.Config, file}
}

// preflight runs the command, which must end with that exit code, and returns its output.
func (c cluster) preflight(t *testing.T, code int, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != code || complaint.Len() > 0 {
		t.Fatalf("preflight %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, complaint.String(), output)
	}
	return string(output)
}

// findings runs the command for programs.
func (c cluster) findings(t *testing.T, code int, args ...string) []finding {
	t.Helper()
	var told struct {
		Findings []finding `json:"findings"`
	}
	output := c.preflight(t, code, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(output), &told); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	return told.Findings
}

// notOK are result, check and object of what is not ok.
func notOK(findings []finding) []string {
	var told []string
	for _, f := range findings {
		if f.Result != "ok" {
			told = append(told, strings.Join([]string{f.Result, f.Check, f.Object}, " "))
		}
	}
	return told
}

func wantNotOK(t *testing.T, findings []finding, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, notOK(findings)); diff != "" {
		t.Fatalf("what is not ok (-want +got):\n%s", diff)
	}
}

// find returns what is said of an object by a check, with that result.
func find(t *testing.T, findings []finding, result, check, object string) finding {
	t.Helper()
	for _, f := range findings {
		if f.Result == result && f.Check == check && f.Object == object {
			return f
		}
	}
	t.Fatalf("%s is not told of %s by %s: %q", result, object, check, notOK(findings))
	return finding{}
}

// shell runs a line as users do, with the API server's kubectl.
func (c cluster) shell(t *testing.T, line, stdin string) string {
	t.Helper()
	assets := os.Getenv(testkit.AssetsVariable)
	if assets == "" {
		assets = filepath.Join(root, "bin", "k8s")
	}
	command := exec.CommandContext(t.Context(), "sh", "-ec", line)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "PATH="+assets+string(os.PathListSeparator)+os.Getenv("PATH"))
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, output)
	}
	return string(output)
}

func (c cluster) create(t *testing.T, manifest string) {
	t.Helper()
	c.shell(t, "kubectl create --filename -", manifest)
}

// asset are the objects of a release asset.
func asset(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "release", "testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := install.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func (c cluster) install(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	if err := install.ApplyObjects(t.Context(), c.config, objects); err != nil {
		t.Fatal(err)
	}
}
