package command

import (
	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/tunnel"
)

func (t *tool) portForward() *cobra.Command {
	var addresses []string
	cmd := &cobra.Command{
		Use:     "port-forward NAME [LOCAL:]PORT...",
		Short:   "Reach ports of a Sandbox from this machine",
		GroupID: groupUse,
		Long: `Forward ports of this machine to those of a Sandbox's Pod, until it is interrupted. :PORT takes a free local port, and says which.
No other machine reaches them, unless --address says so.`,
		Example: `  kubectl sandbox port-forward my-sandbox 8888
  kubectl sandbox port-forward claim/my-session 9000:8888 :9090`,
		Args:              names(2, -1),
		ValidArgsFunction: t.complete(target.Any),
	}
	cmd.Flags().StringSliceVar(&addresses, "address", []string{tunnel.Loopback}, "Addresses of this machine to listen on.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := tunnel.CheckPorts(args[1:]); err != nil {
			return UsageError{err}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		pod, err := t.pod(ctx, c, args[0])
		if err != nil {
			return err
		}
		opened, err := tunnel.Open(ctx, tunnel.Options{
			Config: c.Config, Namespace: pod.Namespace, Pod: pod.Name, Ports: args[1:], Addresses: addresses,
			Out: t.Streams.Out, ErrOut: t.Streams.ErrOut,
		})
		if err != nil {
			return err
		}
		defer opened.Close()
		select {
		case <-ctx.Done():
			return nil
		case <-opened.Done():
			return opened.Err()
		}
	}
	return cmd
}
