package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/node"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster/provisioner"
)

func newAssets(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs if missing, print the directory for KUBEBUILDER_ASSETS",
		Long: `assets builds etcd, kube-apiserver and kubectl where they are missing and prints their directory.
If KUBEBUILDER_ASSETS is set, it is checked and printed instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := f.options()
			if err != nil {
				return err
			}
			dir, err := devcluster.Assets(cmd.Context(), options.Root, options.Out)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
}

func newKubectl(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl -- ARGS",
		Short: "Run kubectl against a cluster",
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := f.open()
			if err != nil {
				return err
			}
			return runAttached(cluster.Kubectl(cmd.Context(), args...))
		},
	}
}

// ranError says that a program which was run for the user failed.
type ranError struct{ *exec.ExitError }

// runAttached runs a command that reads and writes what this process does.
func runAttached(command *exec.Cmd) error {
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := command.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ranError{failed}
	}
	return err
}

func newExec(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "exec -- COMMAND",
		Short: "Run a command where the API server and the Pods of a real node can be reached, with KUBECONFIG set",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := f.open()
			if err != nil {
				return err
			}
			return runAttached(cluster.Command(cmd.Context(), args[0], args[1:]...))
		},
	}
}

func newLoad(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "load ARCHIVE...",
		Short:   "Give a real node images, as make images writes them",
		Example: "  devcluster load dist/images/*.tar",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := f.open()
			if err != nil {
				return err
			}
			return cluster.ImportImages(cmd.Context(), args...)
		},
	}
}

// newHold is what holds the namespaces of a real node.
func newHold() *cobra.Command {
	var o node.HoldOptions
	cmd := &cobra.Command{
		Use:    "hold",
		Short:  "Hold the namespaces of a real node",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return node.Hold(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.State, "state", "", "directory of the node's state")
	cmd.Flags().StringVar(&o.Group, "group", "", "name of the cgroup to join")
	cmd.Flags().StringVar(&o.Health, "health", "", "address that answers once all is in place")
	return cmd
}

// newEnter is how programs get into the namespaces of a real node.
func newEnter() *cobra.Command {
	var o node.EnterOptions
	cmd := &cobra.Command{
		Use:    "enter -- COMMAND",
		Short:  "Become a command within the namespaces of a real node",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return node.Enter(o, args...) },
	}
	cmd.Flags().IntVar(&o.Holder, "holder", 0, "process that holds the namespaces")
	cmd.Flags().BoolVar(&o.NetworkOnly, "network-only", false, "stay among the machine's mounts")
	cmd.Flags().StringVar(&o.Group, "group", "", "name of the cgroup to join")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "directory to start in")
	return cmd
}

// newProvisioner is what a cluster runs as its volume provisioner.
func newProvisioner() *cobra.Command {
	var kubeconfig, dir, realNode string
	cmd := &cobra.Command{
		Use:    "provisioner",
		Short:  "Provide the volumes of a cluster",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return provisioner.Run(cmd.Context(), kubeconfig, dir, realNode)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the cluster to serve")
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the volumes")
	cmd.Flags().StringVar(&realNode, "real-node", "", "the node whose volumes need directories")
	return cmd
}
