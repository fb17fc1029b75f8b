//go:build node

package node_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/await"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/images"
	"sigs.k8s.io/agent-sandbox/test/internal/documents"
	"sigs.k8s.io/agent-sandbox/test/internal/fixture"
)

const (
	// daemonImage is that of the daemon, as the release names it.
	daemonImage = "registry.k8s.io/agent-sandbox/sandboxd:v0.0.0-dev"
	// probeAddress is that of the probe where a test speaks to it, beside a daemon or alone.
	probeAddress = ":3000"
)

// daemonPod runs the daemon as its entrypoint, with a workspace of its own.
func daemonPod(template *extensionsv1beta1.SandboxTemplate) {
	pod := &template.Spec.PodTemplate.Spec
	container := &pod.Containers[0]
	container.Image, container.Args = daemonImage, nil
	container.SecurityContext.ReadOnlyRootFilesystem = ptr.To(true)
	container.ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v1/health", Port: intstr.FromInt32(8080)}},
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "workspace", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("3Gi"))},
	}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "workspace", MountPath: "/workspace"})
}

// daemonAround runs the daemon around a command of the probe, as its document says for any image.
func daemonAround(t *testing.T, command ...string) func(*extensionsv1beta1.SandboxTemplate) {
	t.Helper()
	document, err := documents.Read(filepath.Join(root, "docs", "sandboxd.md"), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	example := &sandboxv1beta1.Sandbox{}
	if err := yaml.UnmarshalStrict([]byte(document.Files["entrypoint.yaml"]), example); err != nil {
		t.Fatal(err)
	}
	pod := example.Spec.PodTemplate.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](2)
	pod.InitContainers[0].Image, pod.InitContainers[0].ImagePullPolicy = daemonImage, corev1.PullNever
	workload := &pod.Containers[0]
	workload.Image, workload.ImagePullPolicy, workload.Args = images.Probe, corev1.PullNever, command
	workload.ReadinessProbe.PeriodSeconds = 1
	return func(template *extensionsv1beta1.SandboxTemplate) { template.Spec.PodTemplate.Spec = pod }
}

func podIn(t *testing.T, namespace, name string) corev1.Pod {
	t.Helper()
	return *fixture.Must(t, user, &corev1.Pod{ObjectMeta: fixture.Named(namespace, name)}, await.Exists[*corev1.Pod]())
}

// peakOf returns the most memory, in bytes, that the program of a Pod has taken so far.
func peakOf(t *testing.T, pod corev1.Pod) int64 {
	t.Helper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range groups {
		group, err := os.ReadFile(file)
		// Groups are named by the UID, with underscores where systemd makes them; a Pod's own container only pauses.
		if err != nil || !strings.Contains(strings.ReplaceAll(string(group), "_", "-"), string(pod.UID)) {
			continue
		}
		if peak, err := peakOfProcess(filepath.Dir(file)); err == nil && peak > 0 {
			return peak
		}
	}
	t.Fatalf("Pod %s has no process", pod.Name)
	return 0
}

// peakOfProcess returns the most memory, in bytes, that a process has taken; 0 for one that only pauses.
func peakOfProcess(dir string) (int64, error) {
	command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil || strings.HasPrefix(string(command), "/probe\x00pause") {
		return 0, err
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if peak, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(peak), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the process has no memory")
}

// terminal is one in a sandbox, in which the probe converses.
type terminal struct {
	process *sandbox.Process
	output  *bufio.Reader
	ended   chan error
	size    sandbox.Terminal
}

func openTerminal(t *testing.T, sb *sandbox.Sandbox) *terminal {
	t.Helper()
	size := sandbox.Terminal{Cols: 80, Rows: 24}
	output, written := io.Pipe()
	process, err := sb.Commands().Start(t.Context(), sandbox.Command{
		Args: []string{"/probe", "converse"}, Stdout: written, Terminal: &size,
	})
	if err != nil {
		t.Fatal(err)
	}
	opened := &terminal{process, bufio.NewReader(output), make(chan error, 1), size}
	go func() {
		code, err := process.Wait()
		if err == nil && code != 0 {
			err = fmt.Errorf("it ended with %d", code)
		}
		_ = written.CloseWithError(err)
		opened.ended <- err
	}()
	opened.prints(t, "listening")
	return opened
}

// prints reads until a line has a text, and the size of the terminal.
func (o *terminal) prints(t *testing.T, text string) {
	t.Helper()
	readTo(t, o.output, fmt.Sprintf("%s on a terminal of %dx%d", text, o.size.Cols, o.size.Rows))
}

// readTo reads what a terminal shows until a line has a text.
func readTo(t *testing.T, screen *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := screen.ReadString('\n')
		if err != nil {
			t.Fatalf("the terminal never says %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// resize gives the terminal another size.
func (o *terminal) resize(t *testing.T, size sandbox.Terminal) {
	t.Helper()
	if err := o.process.Resize(t.Context(), size); err != nil {
		t.Fatal(err)
	}
	o.size = size
}

// says types a line and wants it to be heard.
func (o *terminal) says(t *testing.T, line string) {
	t.Helper()
	if _, err := o.process.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
	o.prints(t, fmt.Sprintf("heard %q", line))
}

// ends types the end of input, as people do.
func (o *terminal) ends(t *testing.T) {
	t.Helper()
	if _, err := o.process.Write([]byte{4}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, o.output); err != nil {
		t.Error(err)
	}
	if err := <-o.ended; err != nil {
		t.Error(err)
	}
}

// TestTheDaemonWhereverItRuns: around a program of another image, on a read-only root, under runc and under gVisor.
func TestTheDaemonWhereverItRuns(t *testing.T) {
	namespace := newNamespace(t)
	router := withRouter(t)
	for name, modify := range map[string][]func(*extensionsv1beta1.SandboxTemplate){
		"runc": {daemonAround(t, "/probe", "serve", probeAddress)}, "gvisor": {daemonAround(t, "/probe", "serve", probeAddress), underGVisor},
	} {
		t.Run(name, func(t *testing.T) {
			sb, err := router.sdk(t, namespace).CreateSandbox(t.Context(), filled(t, namespace, name, 1, modify...).Name, "")
			if err != nil {
				t.Fatal(err)
			}
			ran, err := sb.Run(t.Context(), "/probe kernel")
			if err != nil || ran.ExitCode != 0 || strings.Contains(ran.Stdout, "gvisor") != (name == "gvisor") {
				t.Errorf("the kernel: %+v, %v", ran, err)
			}
			if ran, err := sb.Run(t.Context(), "/probe write /note text"); err != nil || ran.ExitCode == 0 {
				t.Errorf("writing beside the workspace: %+v, %v", ran, err)
			}
			if ran, err := sb.Run(t.Context(), "/probe write /workspace/made text"); err != nil || ran.ExitCode != 0 {
				t.Errorf("writing into the workspace: %+v, %v", ran, err)
			}
			if made, err := sb.Read(t.Context(), "made"); err != nil || string(made) != "text\n" {
				t.Errorf("what a program wrote is %q, %v", made, err)
			}
			thereAndBack(t, sb, 10<<20)
			if status, body, err := router.ask(t.Context(), http.MethodGet, namespace, sb.SandboxName(), "/"); !strings.HasPrefix(body, sb.SandboxName()) {
				t.Errorf("the workload answers %d %s %v", status, body, err)
			}
			terminal := openTerminal(t, sb)
			terminal.says(t, "one")
			terminal.resize(t, sandbox.Terminal{Cols: 101, Rows: 33})
			terminal.says(t, "two")
			terminal.ends(t)
			if err := sb.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
