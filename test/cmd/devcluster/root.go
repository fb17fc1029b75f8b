package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

// flags are those that all commands have.
type flags struct {
	root     string
	stateDir string
	name     string
}

func newRoot() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "devcluster",
		Short: "Real Kubernetes control planes on this machine, with simulated nodes or a real one",
		Long: `devcluster runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK and a
volume provisioner as plain processes on 127.0.0.1, built from pinned Go modules. It needs Linux and a
Go toolchain, neither root nor containers.

With --node real it also runs containerd, a kubelet, kube-proxy, CoreDNS, gVisor and NetworkPolicies, all of it in namespaces of its
own: that needs root and a few packages of the system, which it names. Nothing of the machine is changed, and down leaves nothing.`,
		Example: `  eval "$(devcluster up)" && kubectl get nodes
  devcluster up --name second --nodes 100
  devcluster up --name real --node real && devcluster kubectl --name real -- get pods -A
  KUBEBUILDER_ASSETS="$(devcluster assets)" go test ./...
  devcluster down --all`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	persistent := root.PersistentFlags()
	persistent.StringVar(&f.root, "root", "", "the repository's root (default: the nearest directory with a go.work, upwards)")
	persistent.StringVar(&f.stateDir, "state-dir", "", "where clusters keep their state (default: bin/clusters below the root)")
	persistent.StringVar(&f.name, "name", devcluster.DefaultName, "name of the cluster")
	root.AddCommand(
		newUp(f), newDown(f), newStatus(f), newLogs(f), newKill(f), newKubectl(f), newExec(f), newLoad(f), newAssets(f),
		newProvisioner(), newHold(), newEnter())
	return root
}

// options returns what all commands need to know, with progress on stderr.
func (f *flags) options() (devcluster.Options, error) {
	if f.name == "" {
		return devcluster.Options{}, errors.New(`--name "": name a cluster, or leave the flag out`)
	}
	root := f.root
	if root == "" {
		found, err := devcluster.FindRoot(".")
		if err != nil {
			return devcluster.Options{}, fmt.Errorf("%w; name it with --root", err)
		}
		root = found
	}
	return devcluster.Options{
		Root: root, Name: f.name, StateDir: f.stateDir, Nodes: devcluster.KeepNodes, Out: os.Stderr,
	}, nil
}

func (f *flags) open() (*devcluster.Cluster, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	cluster, err := devcluster.Open(options)
	if errors.Is(err, devcluster.ErrNotFound) {
		return nil, fmt.Errorf("%w; start it with: devcluster up --name %s", err, f.name)
	}
	return cluster, err
}
