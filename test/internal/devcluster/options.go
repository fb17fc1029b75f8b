package devcluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

const (
	// DefaultName is the name of a cluster that is given none.
	DefaultName = "dev"
	// DefaultNodes is the number of simulated nodes of a new cluster for which
	// KeepNodes is asked.
	DefaultNodes = 10
	// KeepNodes as Options.Nodes leaves the number of simulated nodes as the
	// cluster was last started with.
	KeepNodes = -1
	// PodsOfNode is how many Pods a simulated node takes.
	PodsOfNode = 1000
	// AssetsVariable is the environment variable by which envtest finds its
	// programs. If set, Up and Assets use the programs it points to.
	AssetsVariable = "KUBEBUILDER_ASSETS"
)

// Options describe a cluster.
type Options struct {
	// Root is the repository's root, see FindRoot. Programs are built into
	// bin/k8s there.
	Root string
	// Name tells clusters apart: at most 40 lower-case letters, digits and
	// dashes. Empty means DefaultName.
	Name string
	// StateDir is the directory of the state of all clusters, one directory
	// each. Empty means bin/clusters below Root.
	StateDir string
	// Nodes is the number of simulated nodes, named kwok-0 and so on, or
	// KeepNodes. Superfluous ones are removed.
	Nodes int
	// RealNode asks for a node that runs containers, see Cluster.RealNode. Without
	// it a cluster keeps the one it was started with.
	RealNode bool
	// APIPort is the kube-apiserver's port; 0 means the last one, or a free one.
	APIPort int
	// Args are flags to add to those of a component, by its name; empty means
	// those of the last start. A component that runs already keeps those it was
	// started with.
	Args map[string][]string
	// Out receives progress, line by line; io.Discard for none.
	Out io.Writer
}

// clusterName matches names that are good for a file and a kubeconfig context.
const clusterName = `^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`

// complete fills in defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if !regexp.MustCompile(clusterName).MatchString(o.Name) {
		return o, fmt.Errorf("cluster name %q: want at most 40 lower-case letters, digits and dashes", o.Name)
	}
	if o.Out == nil {
		return o, errors.New("no writer for progress: pass io.Discard for none")
	}
	if o.Nodes < KeepNodes {
		return o, fmt.Errorf("%d simulated nodes: want 0 or more", o.Nodes)
	}
	if o.APIPort < 0 || o.APIPort > 65535 {
		return o, fmt.Errorf("API port %d: want 1 to 65535, or 0 for a free one", o.APIPort)
	}
	for name := range o.Args {
		if err := checkComponent(name); err != nil {
			return o, err
		}
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, fmt.Errorf("making root %q absolute: %w", o.Root, err)
	}
	o.Root = root
	if o.StateDir == "" {
		o.StateDir = filepath.Join(root, "bin", "clusters")
	}
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return o, fmt.Errorf("making the state directory absolute: %w", err)
	}
	return o, nil
}

// FindRoot returns the repository's root: the nearest directory with a go.work,
// from dir upwards.
func FindRoot(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("making %q absolute: %w", dir, err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.work")); err == nil {
			return at, nil
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", fmt.Errorf("no go.work in %s or above: not in the repository", dir)
		}
		at = parent
	}
}
