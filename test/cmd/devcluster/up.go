package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

func newUp(f *flags) *cobra.Command {
	var (
		nodes, apiPort int
		kind           string
		args           []string
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing, start a cluster or repair it, print its KUBECONFIG line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := f.options()
			if err != nil {
				return err
			}
			options.Nodes, options.APIPort = nodes, apiPort
			if options.RealNode, err = isReal(kind); err != nil {
				return err
			}
			if options.Args, err = componentArgs(args); err != nil {
				return err
			}
			cluster, err := devcluster.Up(cmd.Context(), options)
			if err != nil {
				return err
			}
			if cluster.HasRealNode() {
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "its network is its own: use devcluster kubectl --name %s -- …, or devcluster exec\n", cluster.Name())
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", shellQuote(cluster.KubeconfigPath()))
			return err
		},
	}
	cmd.Flags().StringVar(&kind, "node", simulatedNode, simulatedNode+", or "+realNode+": one that runs containers, beside --nodes simulated ones")
	cmd.Flags().IntVar(&nodes, "nodes", devcluster.KeepNodes,
		fmt.Sprintf("simulated nodes; %d: as many as before, %d for a new cluster, none beside a real one", devcluster.KeepNodes, devcluster.DefaultNodes))
	cmd.Flags().IntVar(&apiPort, "api-port", 0, "port of the API server (default: the last one, or a free one)")
	cmd.Flags().StringArrayVar(&args, "arg", nil, "a flag for a component, as kube-apiserver=--v=4; may be repeated")
	return cmd
}

// The kinds of nodes.
const (
	simulatedNode = "simulated"
	realNode      = "real"
)

func isReal(kind string) (bool, error) {
	if kind != simulatedNode && kind != realNode {
		return false, fmt.Errorf("--node %q: want %s or %s", kind, simulatedNode, realNode)
	}
	return kind == realNode, nil
}

// componentArgs reads values such as kube-apiserver=--v=4.
func componentArgs(values []string) (map[string][]string, error) {
	args := map[string][]string{}
	for _, value := range values {
		component, flag, found := strings.Cut(value, "=")
		if !found || !strings.HasPrefix(flag, "-") {
			return nil, fmt.Errorf("--arg %q: want COMPONENT=--FLAG=VALUE", value)
		}
		args[component] = append(args[component], flag)
	}
	return args, nil
}

// shellQuote quotes what a shell would otherwise take apart.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%"
	if strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
