package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// Where programs in the namespaces find what WriteFiles has written.
const (
	ContainerdConfig = StateDir + "/containerd.toml"
	KubeletConfig    = StateDir + "/kubelet.yaml"
	ProxyConfig      = StateDir + "/kube-proxy.yaml"
	KubeletDir       = StateDir + "/kubelet"
)

// RuntimeSocket is where containerd serves the kubelet, within the namespaces.
const RuntimeSocket = "/run/containerd/containerd.sock"

// Settings are what the programs of a node are told. Paths are as within the namespaces.
type Settings struct {
	// Name is the node's.
	Name string
	// Programs is the directory of all programs.
	Programs string
	// PauseImage is the name of the image of a Pod's own container.
	PauseImage string
	// CgroupRoot is the path of the node's Cgroup.
	CgroupRoot string
	// DNS is the address of the cluster's resolver.
	DNS string
	// Authority is the certificate of the cluster's authority; KubeletCertificate and KubeletKey are what the kubelet serves with.
	Authority, KubeletCertificate, KubeletKey string
	// ProxyKubeconfig is that of kube-proxy.
	ProxyKubeconfig string
	// ContainerdHealth is an address, the others are ports.
	ContainerdHealth                                string
	KubeletPort, KubeletHealthPort, ProxyHealthPort int
}

//go:embed files
var files embed.FS

// WriteFiles writes what the programs of a node read into its state directory, which becomes StateDir.
func WriteFiles(dir string, s Settings) error {
	parsed, err := template.New("").Option("missingkey=error").ParseFS(files, "files/*")
	if err != nil {
		return fmt.Errorf("reading the node's files: %w", err)
	}
	values := struct {
		Settings
		Address, Bridge, PodCIDR, StateDir, RuntimeSocket string
		MayRaisePriority                                  bool
	}{s, Address, Bridge, PodCIDR, StateDir, RuntimeSocket, MayRaisePriority()}
	for name, path := range map[string]string{
		"containerd.toml": "containerd.toml", "runsc.toml": "runsc.toml", "kubelet.yaml": "kubelet.yaml", "kube-proxy.yaml": "kube-proxy.yaml",
		"resolv.conf": "resolv.conf", "network.conflist": "cni/node.conflist",
	} {
		var text bytes.Buffer
		if err := parsed.ExecuteTemplate(&text, name, values); err != nil {
			return fmt.Errorf("writing the node's %s: %w", name, err)
		}
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("writing the node's %s: %w", name, err)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			return fmt.Errorf("writing the node's %s: %w", name, err)
		}
	}
	return nil
}
