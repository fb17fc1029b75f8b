//go:build node

package node_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

// withPlugin builds the plugin and returns how to run a script, in a namespace, that uses it by kubectl.
func withPlugin(t *testing.T, namespace string) func(script string) *exec.Cmd {
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
	return func(script string) *exec.Cmd {
		command := cluster.Command(ctx, "bash", "-euo", "pipefail", "-c", "kubectl config set-context --current --namespace="+namespace+" >/dev/null\n"+script)
		command.Dir = dir
		command.Env = append(command.Env, "KUBECONFIG="+own, "PATH="+path)
		return command
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

// withMachinesPrograms gives the container the programs of the machine, such as a shell and tar.
func withMachinesPrograms(s *sandboxv1beta1.Sandbox) {
	pod := &s.Spec.PodTemplate.Spec
	for i, dir := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		name := "machine-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: dir, ReadOnly: true})
	}
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "PATH", Value: "/usr/bin:/bin"})
}

// copies moves a tree into the Sandbox and out of it again, large, with spaces in its names and a mode of its own.
const copies = `
mkdir -p "tree/a b"
head -c 50000000 /dev/urandom > "tree/a b/large"
printf 'echo ran\n' > tree/script
chmod 755 tree/script
kubectl sandbox cp tree my-sandbox:/data/tree
kubectl sandbox exec my-sandbox -- sh -c 'cd /data/tree && ./script && rm script && echo new > "a b/new"'
kubectl sandbox cp my-sandbox:/data/tree back
cmp "tree/a b/large" "back/a b/large"
cat "back/a b/new"
test ! -e back/script
`

func TestThePluginWithATerminalAndTar(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "my-sandbox", withDisk, withMachinesPrograms)
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	run := withPlugin(t, namespace)
	if output, err := run(copies).CombinedOutput(); err != nil || !strings.Contains(string(output), "new") {
		t.Errorf("copying: %v\n%s", err, output)
	}

	command := run("kubectl sandbox exec -it my-sandbox -- sh")
	window, err := pty.StartWithSize(command, &pty.Winsize{Cols: 101, Rows: 33})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = window.Close() }()
	const longest = time.Minute
	defer time.AfterFunc(longest, func() { _ = command.Process.Kill() }).Stop()
	screen := bufio.NewReader(window)
	for _, exchange := range []struct {
		resize      *pty.Winsize
		types, want string
	}{
		// Sizes go another way than what is typed, and may come after it.
		{nil, untilSize("33 101"), "sized"},
		{&pty.Winsize{Cols: 77, Rows: 22}, untilSize("22 77"), "sized"},
		{nil, "echo wai''ting; sleep 1000\n", "waiting"},
		{nil, "\x03", "^C"},
		{nil, "echo inter''rupted\n", "interrupted"},
	} {
		if exchange.resize != nil {
			if err := pty.Setsize(window, exchange.resize); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(window, exchange.types); err != nil {
			t.Fatal(err)
		}
		readTo(t, screen, exchange.want)
	}
	if _, err := io.WriteString(window, "exit 42\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, screen) // which ends in an error when the terminal is gone
	if err := command.Wait(); command.ProcessState.ExitCode() != 42 {
		t.Errorf("it ended in %v, want the exit code of the shell", err)
	}
}

// untilSize has a shell say "sized" once its terminal has so many rows and columns.
func untilSize(size string) string {
	return fmt.Sprintf("while [ \"$(stty size)\" != '%s' ]; do sleep 0.1; done; echo si''zed\n", size)
}

func TestThePluginReachesContainers(t *testing.T) {
	namespace := newNamespace(t)
	sandbox := box(namespace, "my-sandbox", withDisk)
	fixture.Create(t, user, sandbox)
	fixture.Must(t, user, sandbox, await.Ready())
	run := withPlugin(t, namespace)

	document := commandsOf(t, 1, "docs", "kubectl-plugin.md")
	cases := []struct {
		name, script, want string
		fails              bool
	}{
		{"the commands of its document run", document.Commands[0], "", false},
		{"what they wrote is there", "kubectl sandbox exec my-sandbox -- /probe read /data/note", "as it was written", false},
		{"the exit code is that of the command", "kubectl sandbox exec my-sandbox -- /probe exit 42 || echo code $?", "code 42", false},
		{"a port is forwarded to the server", forwarded, "my-sandbox", false},
		{"a copy says that tar is missing", "kubectl sandbox cp my-sandbox:/data/note .", "tar", true},
		{"a container that is not there is named", "kubectl sandbox exec my-sandbox -c other -- /probe host", "other", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			output, err := run(c.script).CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(output), c.want) {
				t.Errorf("%v: it says %q, want %q", err, output, c.want)
			}
		})
	}
}
