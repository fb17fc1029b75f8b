package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchies(t *testing.T) {
	const one = `22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw
30 25 0:26 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:11 master:3 - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
`
	want := []hierarchy{
		{"/sys/fs/cgroup/cpuset", []string{"rw", "cpuset"}},
		{"/sys/fs/cgroup/cpu,cpuacct", []string{"rw", "cpu", "cpuacct"}},
		{"/sys/fs/cgroup/unified", nil},
	}
	if diff := cmp.Diff(want, hierarchies(one), cmp.AllowUnexported(hierarchy{})); diff != "" {
		t.Errorf("hierarchies (-want +got):\n%s", diff)
	}
	if found := hierarchies("nonsense\n\n1 2 3 - cgroup\n"); len(found) > 0 {
		t.Errorf("nonsense has hierarchies: %v", found)
	}
}

// needsRoot skips what only root may do.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not root")
	}
}

func TestRemoveEndsEveryProcessOfAGroup(t *testing.T) {
	needsRoot(t)
	group, err := OpenCgroup("devcluster-test-" + strings.ToLower(t.Name()))
	if err != nil {
		t.Skip(err)
	}
	if err := group.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	// A child of it gets away from its parent, its session and its signals.
	tree := group.joined()
	script := `mkdir -p "$1" && echo $$ > "$1/cgroup.procs" && { setsid sh -c 'trap "" TERM; sleep 300' & } ; echo joined; wait`
	cmd := exec.Command("sh", "-c", script, "sh", tree)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		pids, _, err := group.read()
		if err != nil {
			t.Fatal(err)
		}
		if len(pids) >= 3 {
			break
		}
	}
	if err := group.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, tree := range group.trees {
		if _, err := os.Stat(filepath.Join(tree.dir, group.name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", tree.dir, err)
		}
	}
}

func TestHoldRefusesTheNamespacesOfTheMachine(t *testing.T) {
	err := Hold(t.Context(), HoldOptions{State: t.TempDir(), Group: "devcluster-test", Health: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "namespace of its own") {
		t.Errorf("Hold = %v, want it refused", err)
	}
}

func TestFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	settings := Settings{
		Name: "real-0", Programs: "/programs", PauseImage: "pause", CgroupRoot: "/group", DNS: "10.96.0.10", Authority: "/ca", KubeletCertificate: "/crt",
		KubeletKey: "/key", ProxyKubeconfig: "/kubeconfig", ContainerdHealth: "127.0.0.1:1", KubeletPort: 2, KubeletHealthPort: 3, ProxyHealthPort: 4,
	}
	if err := WriteFiles(dir, settings); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"containerd.toml", "runsc.toml", "kubelet.yaml", "kube-proxy.yaml", "resolv.conf", "cni/node.conflist"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(data), "{{") || strings.Contains(string(data), "<no value>") {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
}
