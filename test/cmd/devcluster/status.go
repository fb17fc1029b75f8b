package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

const (
	formatText = "text"
	formatJSON = "json"
)

func newStatus(f *flags) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show all clusters, or the one of --name; the exit code is 0 only if all is healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != formatText && format != formatJSON {
				return fmt.Errorf("--output %q: want %s or %s", format, formatText, formatJSON)
			}
			clusters, err := f.selected(!cmd.Flags().Changed("name"))
			if err != nil {
				return err
			}
			statuses := make([]devcluster.Status, 0, len(clusters))
			for _, cluster := range clusters {
				status, err := cluster.Status(cmd.Context())
				if err != nil {
					return err
				}
				statuses = append(statuses, status)
			}
			if err := printStatuses(cmd.OutOrStdout(), format, statuses); err != nil {
				return err
			}
			return judge(statuses)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", formatText, "text or json")
	return cmd
}

func judge(statuses []devcluster.Status) error {
	if len(statuses) == 0 {
		return errors.New("there is no cluster")
	}
	for _, status := range statuses {
		if !status.Healthy {
			return fmt.Errorf("cluster %s is not healthy; devcluster up --name %s repairs it", status.Name, status.Name)
		}
	}
	return nil
}

func printStatuses(out io.Writer, format string, statuses []devcluster.Status) error {
	if format == formatJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(statuses)
	}
	for _, status := range statuses {
		if err := printStatus(out, status); err != nil {
			return err
		}
	}
	return nil
}

func printStatus(out io.Writer, status devcluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	nodes := fmt.Sprintf("%d simulated nodes", status.Nodes)
	if status.RealNode {
		nodes = "a real node, " + nodes
	}
	_, err := fmt.Fprintf(table, "%s: %s, %s, KUBECONFIG=%s\n", status.Name, status.Server, nodes, status.Kubeconfig)
	if err != nil {
		return err
	}
	rows := [][]any{{"  COMPONENT", "PID", "PORT", "UP", "STATE", ""}}
	for _, c := range status.Components {
		up := time.Duration(c.UpSeconds) * time.Second
		rows = append(rows, []any{"  " + c.Name, orDash(c.PID), orDash(c.Port), orDash(up), c.State, c.Detail})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(table, "%v\t%v\t%v\t%v\t%v\t%v\n", row...); err != nil {
			return err
		}
	}
	return table.Flush()
}

func orDash[N int | time.Duration](n N) any {
	if n == 0 {
		return "-"
	}
	return n
}
