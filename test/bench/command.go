package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/test/internal/bench"
	"sigs.k8s.io/agent-sandbox/test/internal/bench/report"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

// Values of --output.
const (
	table = "table"
	json  = "json"
)

func newCommand() *cobra.Command {
	o := bench.Options{Count: 300, Parallel: 50, Rounds: 2, Duration: time.Minute, Scale: 10_000, Nodes: devcluster.DefaultNodes}
	output := table
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what our controllers cost, beside the same work without them",
		Long: `bench does the same work without our controllers (the floor) and with them (ours), in turn, on one
control plane, and prints both with their ratio. Requests, reconciles, Pods and who got which Sandbox are
exact; times are this machine's, so only their ratios say something. A wrong count fails, a slow run never
does.

Without --kubeconfig it starts a control plane of its own with simulated nodes, and takes it down again.`,
		Example: `  bench --count 300 --parallel 50 --rounds 3
  bench --case claims-burst,claims-unloaded
  bench --case scale --scale 50000 --rounds 1
  bench -o json > figures.json`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd, o, output) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Root, "root", "", "the repository's root (default: the nearest directory with a go.work, upwards)")
	flags.StringSliceVar(&o.Cases, "case", nil, "what to measure: "+strings.Join(bench.Names(), ", ")+" (default: all but scale, which takes longer than all others)")
	flags.IntVar(&o.Count, "count", o.Count, "objects in each round")
	flags.IntVar(&o.Parallel, "parallel", o.Parallel, "objects that are under way at a time")
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "turns of each side")
	flags.DurationVar(&o.Duration, "duration", o.Duration, "how long claims keep coming in claims-sustained")
	flags.IntVar(&o.Scale, "scale", o.Scale, "Sandboxes that the case scale ends with; it begins with a hundredth of them")
	flags.IntVar(&o.Nodes, "nodes", o.Nodes, "simulated nodes of a control plane of its own; more if the Pods need more")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "an existing cluster, on which no Agent Sandbox controller works")
	flags.StringVar(&o.AuditLog, "audit-log", "", "the audit log of that cluster's API server, if it is on this machine; requests are not counted without")
	flags.StringArrayVar(&o.ControllerArgs, "controller-arg", nil, "a flag for both controllers, as --sandbox-concurrent-workers=10; may be repeated")
	flags.StringVarP(&output, "output", "o", output, "table or json")
	return cmd
}

func run(cmd *cobra.Command, o bench.Options, output string) error {
	write := report.WriteTable
	switch output {
	case table:
	case json:
		write = report.WriteJSON
	default:
		return fmt.Errorf("--output=%s: must be %s or %s", output, table, json)
	}
	if o.Root == "" {
		root, err := devcluster.FindRoot(".")
		if err != nil {
			return fmt.Errorf("%w; name it with --root", err)
		}
		o.Root = root
	}
	o.Progress = cmd.ErrOrStderr()
	found, err := bench.Run(cmd.Context(), o)
	if len(found.Cases) == 0 {
		return err
	}
	return errors.Join(err, write(cmd.OutOrStdout(), found))
}
