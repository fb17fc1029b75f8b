package devcluster

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/build"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/images"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

const (
	// RealNode is the name of a cluster's real node.
	RealNode = "real-0"
	// dnsAddress is where CoreDNS serves, see node-objects.yaml.
	dnsAddress = "10.96.0.10"
	// nodeUser is who the kubelet is, by a name that Kubernetes prescribes.
	nodeUser = "system:node:" + RealNode
	// proxyUser is who kube-proxy is: Kubernetes itself grants that user what it needs.
	proxyUser = "system:kube-proxy"
	// kubeletServing names the certificate with which a kubelet serves.
	kubeletServing = "kubelet-serving"
)

//go:embed node-objects.yaml
var nodeObjectsYAML []byte

// realPlace returns the component within whose namespaces all others of a cluster with a real node run.
func realPlace() []component {
	return []component{{
		name: Node, program: build.Devcluster, real: true, ports: []string{Node},
		scheme: "http", health: "/", grace: 3 * time.Second, args: holdArgs, before: prepareNode,
	}}
}

// realNode returns the components that make up a real node.
func realNode() []component {
	return []component{{
		name: Containerd, program: build.Containerd, real: true, after: []string{Node}, ports: []string{Containerd},
		scheme: "http", health: "/v1/metrics", grace: 5 * time.Second, args: containerdArgs,
	}, {
		name: Kubelet, program: build.Kubelet, real: true, after: []string{Containerd, APIServer}, ports: []string{Kubelet, kubeletServer},
		scheme: "http", health: "/healthz", grace: 5 * time.Second, args: kubeletArgs, before: prepareKubelet,
	}, {
		// It ends itself when its node gets an address only after half a minute.
		name: KubeProxy, program: build.KubeProxy, real: true, after: []string{Kubelet}, ports: []string{KubeProxy},
		scheme: "http", health: "/livez", grace: 3 * time.Second, args: kubeProxyArgs, before: awaitRegistered,
	}, {
		name: KubeRouter, program: build.KubeRouter, real: true, after: []string{Kubelet}, ports: []string{KubeRouter},
		scheme: "http", health: "/healthz", grace: 3 * time.Second, args: kubeRouterArgs, before: awaitRegistered,
	}}
}

func holdArgs(l layout) []string {
	return []string{
		"hold", "--state=" + l.path(nodeDir), "--group=" + l.group(),
		fmt.Sprintf("--health=%s:%d", ports.Loopback, l.ports[Node]),
	}
}

func containerdArgs(layout) []string { return []string{"--config=" + node.ContainerdConfig} }

func kubeletArgs(l layout) []string {
	return []string{
		"--config=" + node.KubeletConfig,
		"--kubeconfig=" + l.kubeconfig(Kubelet),
		"--hostname-override=" + RealNode,
		"--node-ip=" + node.Address,
		"--root-dir=" + node.KubeletDir,
		"--cert-dir=" + node.KubeletDir + "/pki",
	}
}

func kubeProxyArgs(layout) []string { return []string{"--config=" + node.ProxyConfig} }

// kubeRouterArgs leave it to enforce NetworkPolicies only.
func kubeRouterArgs(l layout) []string {
	return []string{
		"--kubeconfig=" + l.kubeconfig(KubeRouter),
		"--hostname-override=" + RealNode,
		"--run-router=false",
		"--run-service-proxy=false",
		"--run-firewall=true",
		"--service-cluster-ip-range=" + serviceCIDR,
		fmt.Sprintf("--health-port=%d", l.ports[KubeRouter]),
	}
}

// group is the name of the cgroup in which a cluster's real node runs. Clusters of several state directories may have one name.
func (l layout) group() string { return "devcluster-" + filepath.Base(l.dir) + "-" + hashOf(l.dir) }

func hashOf(text string) string {
	const length = 4
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:length])
}

// prepareNode writes what the node's programs read, and sees to it that nothing runs that an earlier holder of the namespaces left.
func prepareNode(ctx context.Context, s *starter) error {
	if err := s.stopAll(ctx); err != nil {
		return err
	}
	group, err := node.OpenCgroup(s.layout.group())
	if err != nil {
		return err
	}
	if err := group.Create(); err != nil {
		return err
	}
	return node.WriteFiles(s.layout.path(nodeDir), node.Settings{
		Name: RealNode, Programs: s.programs.built, PauseImage: images.Pause, CgroupRoot: group.Path(), DNS: dnsAddress,
		Authority: s.layout.cert(clusterCA), KubeletCertificate: s.layout.cert(kubeletServing), KubeletKey: s.layout.key(kubeletServing),
		ProxyKubeconfig:  s.layout.kubeconfig(KubeProxy),
		ContainerdHealth: fmt.Sprintf("%s:%d", ports.Loopback, s.layout.ports[Containerd]),
		KubeletPort:      s.layout.ports[kubeletServer], KubeletHealthPort: s.layout.ports[Kubelet], ProxyHealthPort: s.layout.ports[KubeProxy],
	})
}

func (c *Cluster) stopNode(ctx context.Context) error {
	group, err := node.OpenCgroup(c.layout.group())
	if err != nil {
		return err
	}
	return group.Remove(ctx)
}

// importOwnImages gives the node the images that every cluster with one has.
func importOwnImages(ctx context.Context, s *starter) error {
	dir := s.layout.path(nodeDir, "images")
	archives, err := images.Write(dir, s.programs.path)
	if err != nil {
		return err
	}
	return s.ImportImages(ctx, archives...)
}

// ImportImages gives the real node the images of archives, under the names they carry.
func (c *Cluster) ImportImages(ctx context.Context, archives ...string) error {
	for _, archive := range archives {
		path, err := filepath.Abs(archive)
		if err != nil {
			return fmt.Errorf("finding an image: %w", err)
		}
		ctr := findPrograms(c.options.Root).path(build.Ctr)
		cmd := c.nodeCommand(ctx, ctr, "--namespace=k8s.io", "images", "import", path)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("importing image %s: %w\n%s", path, err, output)
		}
	}
	return nil
}

// holder returns the process that holds the namespaces of the real node.
func (c *Cluster) holder() (int, error) {
	id, alive, err := c.identity(Node)
	if err == nil && !alive {
		err = fmt.Errorf("the real node of cluster %s does not run; devcluster up --name %s starts it", c.Name(), c.Name())
	}
	return id.PID, err
}

// enterCommand returns what to put before a command for it to run within the namespaces of the real node.
func (c *Cluster) enterCommand(flags ...string) []string {
	// Where there is none, the command says so.
	pid, _ := c.holder()
	command := []string{findPrograms(c.options.Root).path(build.Devcluster), "enter", fmt.Sprintf("--holder=%d", pid)}
	return append(append(command, flags...), "--")
}

// nodeCommand prepares a run of a program on the real node.
func (c *Cluster) nodeCommand(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := slices.Concat(c.enterCommand(), []string{program}, args)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}

// awaitRegistered waits until the kubelet has made its Node, with an address: kube-router ends at once where it finds none, and every
// NetworkPolicy would be without effect.
func awaitRegistered(ctx context.Context, s *starter) error {
	config, err := s.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	return poll(ctx, func(ctx context.Context) error {
		registered, err := client.CoreV1().Nodes().Get(ctx, RealNode, metav1.GetOptions{})
		if err == nil && len(registered.Status.Addresses) == 0 {
			err = errors.New("the real node has no address")
		}
		return err
	})
}

// whatTheRealNodeLacks says why the real node cannot run Pods yet that look others up by name.
func whatTheRealNodeLacks(ctx context.Context, client kubernetes.Interface) error {
	found, err := client.CoreV1().Nodes().Get(ctx, RealNode, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the real node: %w", err)
	}
	if !takesPods(*found) {
		return errors.New("the real node takes no Pods")
	}
	dns, err := client.AppsV1().Deployments(metav1.NamespaceSystem).Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the cluster's DNS: %w", err)
	}
	if dns.Status.AvailableReplicas == 0 {
		return errors.New("the cluster's DNS is not available")
	}
	return nil
}
