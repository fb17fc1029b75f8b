package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

func newDown(f *flags) *cobra.Command {
	var all, keep bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove all of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clusters, err := f.selected(all)
			if errors.Is(err, devcluster.ErrNotFound) {
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "there is no cluster %s\n", f.name)
			}
			if err != nil {
				return err
			}
			end, done := (*devcluster.Cluster).Down, "is down"
			if keep {
				end, done = (*devcluster.Cluster).Stop, "is stopped, its data kept"
			}
			for _, cluster := range clusters {
				if err := end(cluster, cmd.Context()); err != nil {
					return fmt.Errorf("cluster %s: %w", cluster.Name(), err)
				}
				if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "cluster %s %s\n", cluster.Name(), done); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all clusters of the state directory")
	cmd.Flags().BoolVar(&keep, "keep-data", false, "keep the data for another up")
	return cmd
}

// selected returns the named cluster, or all.
func (f *flags) selected(all bool) ([]*devcluster.Cluster, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	if all {
		return devcluster.List(options)
	}
	cluster, err := devcluster.Open(options)
	if err != nil {
		return nil, err
	}
	return []*devcluster.Cluster{cluster}, nil
}
