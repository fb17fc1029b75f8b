//go:build node

package node_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// withPlugin builds the plugin and returns how to run a script, in a namespace, that uses it by kubectl.
func withPlugin(t *testing.T, namespace string) func(script string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "make", "--no-print-directory", "plugin", "BIN="+dir)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the plugin: %v\n%s", err, output)
	}
	ctx := context.WithoutCancel(t.Context())
	programs := cluster.Kubectl(ctx).Args
	path := strings.Join([]string{dir, filepath.Dir(programs[len(programs)-1]), os.Getenv("PATH")}, string(os.PathListSeparator))
	config, err := os.ReadFile(cluster.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(own, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(script string) (string, error) {
		command := cluster.Command(ctx, "bash", "-euo", "pipefail", "-c", "kubectl config set-context --current --namespace="+namespace+" >/dev/null\n"+script)
		command.Dir = dir
		command.Env = append(command.Env, "KUBECONFIG="+own, "PATH="+path)
		output, err := command.CombinedOutput()
		return strings.TrimSpace(string(output)), err
	}
}

// forwarded reaches the server of the Sandbox by a forwarded port, and prints what it answers.
const forwarded = `
coproc kubectl sandbox port-forward my-sandbox :8080
read -r line <&"${COPROC[0]}"
port="${line#*:}"; port="${port%% *}"
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.0\r\n\r\n' >&3
cat <&3
kill "$COPROC_PID"
`

func TestThePluginReachesContainers(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "my-sandbox", withDisk)
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	run := withPlugin(t, namespace)

	document, err := os.ReadFile(filepath.Join(root, "docs", "kubectl-plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)<!-- test: " + t.Name() + " -->\n```sh\n(.*?)```").FindSubmatch(document)
	if commands == nil {
		t.Fatal("the document of the plugin has no commands for this test")
	}
	cases := []struct {
		name, script, want string
		fails              bool
	}{
		{"the commands of its document run", string(commands[1]), "", false},
		{"what they wrote is there", "kubectl sandbox exec my-sandbox -- /probe read /data/note", "as it was written", false},
		{"the exit code is that of the command", "kubectl sandbox exec my-sandbox -- /probe exit 42 || echo code $?", "code 42", false},
		{"a port is forwarded to the server", forwarded, "my-sandbox", false},
		{"a copy says that tar is missing", "kubectl sandbox cp my-sandbox:/data/note .", "tar", true},
		{"a container that is not there is named", "kubectl sandbox exec my-sandbox -c other -- /probe host", "other", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			output, err := run(c.script)
			if (err != nil) != c.fails || !strings.Contains(output, c.want) {
				t.Errorf("%v: it says %q, want %q", err, output, c.want)
			}
		})
	}
}
