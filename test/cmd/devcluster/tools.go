package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
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
			kubectl := cluster.Kubectl(cmd.Context(), args...)
			kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = os.Stdin, os.Stdout, os.Stderr
			return kubectl.Run()
		},
	}
}

// newProvisioner is what a cluster runs as its volume provisioner.
func newProvisioner() *cobra.Command {
	var kubeconfig, dir string
	cmd := &cobra.Command{
		Use:    "provisioner",
		Short:  "Provide the volumes of a cluster",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return provisioner.Run(cmd.Context(), kubeconfig, dir)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the cluster to serve")
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the volumes")
	return cmd
}
