package devcluster

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/ports"
)

// What lies in a cluster's state directory.
const (
	pkiDir        = "pki"
	etcdDir       = "etcd"
	volumesDir    = "volumes"
	logDir        = "log"
	processDir    = "process"
	kubeconfigDir = "kubeconfig"
	nodeDir       = "node"
	settingsFile  = "cluster.json"
	stagesFile    = "kwok-stages.yaml"
	kubeconfig    = "admin.kubeconfig"
)

// layout tells where a cluster's files and ports are.
type layout struct {
	// dir is the cluster's state directory.
	dir string
	// ports are the numbers of the named ports.
	ports map[string]int
	// real says that the cluster has a real node.
	real bool
}

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.dir}, elements...)...)
}

func (l layout) cert(name string) string {
	return l.path(pkiDir, name+".crt")
}

func (l layout) key(name string) string {
	return l.path(pkiDir, name+".key")
}

// kubeconfig returns the file by which a component identifies itself.
func (l layout) kubeconfig(user string) string {
	if user == admin {
		return l.path(kubeconfig)
	}
	return l.path(kubeconfigDir, user+".kubeconfig")
}

func (l layout) log(component string) string {
	return l.path(logDir, component+".log")
}

// record returns the file that says which process runs a component.
func (l layout) record(component string) string {
	return l.path(processDir, component+".json")
}

func (l layout) url(scheme, port string) string {
	return fmt.Sprintf("%s://%s:%d", scheme, ports.Loopback, l.ports[port])
}

// healthURL is empty where a component has none.
func (l layout) healthURL(c component) string {
	if c.health == "" {
		return ""
	}
	return l.url(c.scheme, c.name) + c.health
}
