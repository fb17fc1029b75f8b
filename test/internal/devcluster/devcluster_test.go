package devcluster

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/provisioner"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func testLayout() layout {
	numbers := map[string]int{}
	for i, name := range []string{
		Etcd, etcdPeer, APIServer, ControllerManager, Scheduler, Kwok, Node, Containerd, Kubelet, kubeletServer, KubeProxy, KubeRouter, simulatedPods,
	} {
		numbers[name] = 20001 + i
	}
	return layout{dir: "/state/dev", ports: numbers}
}

func TestArgumentsAreGolden(t *testing.T) {
	type sample struct {
		name   string
		args   func(layout) []string
		layout layout
	}
	var samples []sample
	for _, c := range components() {
		samples = append(samples, sample{c.name, c.args, testLayout()})
	}
	withRealNode := testLayout()
	withRealNode.real = true
	samples = append(samples, sample{APIServer + "-real", apiServerArgs, withRealNode})
	for _, c := range samples {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(c.args(c.layout), "\n") + "\n"
			path := filepath.Join("testdata", "args", c.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComponentsFitTogether(t *testing.T) {
	names := ComponentNames()
	certificateNames := []string{}
	for _, c := range certificates().Certificates {
		certificateNames = append(certificateNames, c.Name)
	}
	for i, c := range components() {
		for _, other := range c.after {
			if at := slices.Index(names, other); at < 0 || at >= i {
				t.Errorf("%s starts after %s, which is not listed before it", c.name, other)
			}
		}
		if c.health != "" && (len(c.ports) == 0 || c.ports[0] != c.name) {
			t.Errorf("%s has a health path, but no port of its name", c.name)
		}
	}
	for _, user := range users() {
		if !slices.Contains(certificateNames, user) {
			t.Errorf("user %s has no certificate", user)
		}
	}
}

func TestWalkKeepsTheOrder(t *testing.T) {
	cases := []struct {
		name  string
		order func([]component) []step
		pairs [][2]string // the first has its turn before the second
	}{
		{"starting", dependenciesFirst, [][2]string{{Node, Etcd}, {Node, Containerd}, {Containerd, Kubelet}, {Kubelet, KubeRouter}, {Kubelet, KubeProxy}, {Etcd, APIServer}, {APIServer, Scheduler}, {APIServer, Kwok}}},
		{"stopping", dependantsFirst, [][2]string{{Etcd, Node}, {Containerd, Node}, {Kubelet, Containerd}, {KubeRouter, Kubelet}, {KubeProxy, Kubelet}, {APIServer, Etcd}, {Scheduler, APIServer}, {Provisioner, APIServer}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			err := walk(t.Context(), c.order(components()), func(_ context.Context, part component) error {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, part.name)
				return nil
			})
			if err != nil || len(seen) != len(components()) {
				t.Fatalf("walk = %v after %v", err, seen)
			}
			for _, pair := range c.pairs {
				if slices.Index(seen, pair[0]) > slices.Index(seen, pair[1]) {
					t.Errorf("%s came after %s: %v", pair[0], pair[1], seen)
				}
			}
		})
	}
}

func TestWalkEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	var mu sync.Mutex
	var seen []string
	err := walk(t.Context(), dependenciesFirst(components()), func(_ context.Context, part component) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, part.name)
		if part.name == APIServer {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("walk = %v, want %v", err, broken)
	}
	onNode := map[string]bool{Node: true, Containerd: true}
	seen = slices.DeleteFunc(seen, func(name string) bool { return onNode[name] })
	if diff := cmp.Diff([]string{Etcd, APIServer}, seen); diff != "" {
		t.Errorf("components reached (-want +got):\n%s", diff)
	}
}

func TestPlanNodes(t *testing.T) {
	cases := []struct {
		name   string
		found  []string
		wanted int
		create []string
		remove []string
	}{
		{"a new cluster", nil, 2, []string{"kwok-0", "kwok-1"}, nil},
		{"all there", []string{"kwok-0", "kwok-1"}, 2, nil, nil},
		{"one too many", []string{"kwok-0", "kwok-1", "kwok-2"}, 2, nil, []string{"kwok-2"}},
		{"one in the middle is missing", []string{"kwok-0", "kwok-2"}, 3, []string{"kwok-1"}, nil},
		{"none wanted", []string{"kwok-0"}, 0, nil, []string{"kwok-0"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var found []corev1.Node
			for _, name := range c.found {
				found = append(found, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			nodes, remove := planNodes(found, settings{Nodes: c.wanted})
			var create []string
			for _, node := range nodes {
				create = append(create, node.Name)
			}
			if diff := cmp.Diff([][]string{c.create, c.remove}, [][]string{create, remove}); diff != "" {
				t.Errorf("created and removed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTakesPods(t *testing.T) {
	ready := func(status corev1.ConditionStatus) corev1.NodeStatus {
		return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}
	}
	tainted := corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady}}}
	cases := []struct {
		name string
		node corev1.Node
		want bool
	}{
		{"a ready node", corev1.Node{Status: ready(corev1.ConditionTrue)}, true},
		{"a ready node that is still tainted", corev1.Node{Spec: tainted, Status: ready(corev1.ConditionTrue)}, false},
		{"an unready node", corev1.Node{Status: ready(corev1.ConditionFalse)}, false},
		{"a node without conditions", corev1.Node{}, false},
		{"a cordoned node", corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, Status: ready(corev1.ConditionTrue)}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := takesPods(c.node); got != c.want {
				t.Errorf("takesPods = %t, want %t", got, c.want)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Root: ".", Out: io.Discard}
	cases := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"defaults", func(*Options) {}, ""},
		{"a name with a slash", func(o *Options) { o.Name = "../x" }, `cluster name "../x"`},
		{"a name that is too long", func(o *Options) { o.Name = strings.Repeat("x", 41) }, "at most 40"},
		{"no writer", func(o *Options) { o.Out = nil }, "io.Discard"},
		{"nodes below zero", func(o *Options) { o.Nodes = -2 }, "-2 simulated nodes"},
		{"a port that is none", func(o *Options) { o.APIPort = 70000 }, "API port 70000"},
		{"flags of a stranger", func(o *Options) { o.Args = map[string][]string{"nonsense": nil} }, "there are node, etcd, kube-apiserver"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := good
			c.change(&o)
			_, err := o.complete()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("complete = %v, want %q", err, c.want)
			}
		})
	}
}

func TestFindRootLooksUpwards(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := FindRoot(deep); err == nil {
		t.Error("FindRoot without go.work = nil, want an error")
	}
	if err := os.WriteFile(filepath.Join(root, "go.work"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := FindRoot(deep); got != root || err != nil {
		t.Errorf("FindRoot = %q, %v; want %q", got, err, root)
	}
}

func TestAssetsFromOutside(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(AssetsVariable, dir)
	if _, err := Assets(t.Context(), "/nowhere", io.Discard); err == nil || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("Assets with an empty directory = %v, want an error that names etcd", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kwok"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Assets(t.Context(), "/nowhere", io.Discard); got != dir || err != nil {
		t.Errorf("Assets = %q, %v; want %q", got, err, dir)
	}
	programs := findPrograms("/repo")
	want := []string{filepath.Join(dir, "etcd"), "/repo/bin/k8s/kubectl", "/repo/bin/k8s/kwok"}
	got := []string{programs.path("etcd"), programs.path("kubectl"), programs.path("kwok")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

func TestObjectsNameTheirUsers(t *testing.T) {
	objects, err := decodeObjects(objectsYAML)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 5 {
		t.Errorf("objects = %d, want 5", len(objects))
	}
	text := string(objectsYAML)
	for _, name := range []string{userPrefix + Kwok, userPrefix + Provisioner, provisioner.Name} {
		if !strings.Contains(text, name) {
			t.Errorf("objects.yaml does not mention %s", name)
		}
	}
}

func TestStagesNameTheAnnotation(t *testing.T) {
	if want := TerminateAnnotation + `"] == "` + TerminateSlowly + `"`; !strings.Contains(string(stagesYAML), want) {
		t.Errorf("stages.yaml does not mention %s", want)
	}
}

func TestWhichNodesAClusterHas(t *testing.T) {
	known := map[string]int{APIServer: 1}
	cases := map[string]struct {
		stored  settings
		options Options
		want    string
		refused bool
	}{
		"a new one, as it comes":                  {settings{Nodes: DefaultNodes}, Options{Nodes: KeepNodes}, "10 simulated nodes", false},
		"a new one, as asked":                     {settings{Nodes: DefaultNodes}, Options{Nodes: 3}, "3 simulated nodes", false},
		"a new one with a real node":              {settings{Nodes: DefaultNodes}, Options{Nodes: KeepNodes, RealNode: true}, "a real node", false},
		"a new one with both":                     {settings{Nodes: DefaultNodes}, Options{Nodes: 2, RealNode: true}, "a real node and 2 simulated nodes", false},
		"one that had some":                       {settings{Nodes: 4, Ports: known}, Options{Nodes: KeepNodes}, "4 simulated nodes", false},
		"one that had a real node":                {settings{Nodes: 2, Real: true, Ports: known}, Options{Nodes: KeepNodes}, "a real node and 2 simulated nodes", false},
		"one that had none is to get a real node": {settings{Nodes: 4, Ports: known}, Options{Nodes: KeepNodes, RealNode: true}, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.options.applyTo(c.stored)
			if (err != nil) != c.refused || err == nil && got.nodes() != c.want {
				t.Errorf("applyTo = %s, %v; want %s", got.nodes(), err, c.want)
			}
		})
	}
}

// Whoever interrupts a wait is not told that its time is over.
func TestAnInterruptedWaitIsNotOverdue(t *testing.T) {
	interrupted := errors.New("interrupted")
	for range 20 {
		ctx, interrupt := context.WithCancelCause(t.Context())
		err := poll(ctx, func(context.Context) error {
			interrupt(interrupted)
			return errors.New("not yet")
		})
		if !errors.Is(err, interrupted) {
			t.Fatalf("got %v, want %v", err, interrupted)
		}
	}
}
