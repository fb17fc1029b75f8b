// Command chaos kills controllers of Sandboxes without warning while users are at work, and judges what comes of it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/agent-sandbox/test/internal/chaos"
	"sigs.k8s.io/agent-sandbox/test/internal/devcluster"
)

// Values of --output, --variant and --subject beside the variants and subjects themselves.
const (
	table = "table"
	json  = "json"
	both  = "both"
	all   = "all"
)

func main() {
	// The client library's logs tell of watches that end, as they do now and then.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := chaos.Options{Nodes: devcluster.DefaultNodes, Seed: 1, Sandboxes: 300, Claims: 1000, Duration: 3 * time.Minute}
	subject, variant, output := string(chaos.Sandboxes), both, table
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Kill controllers without warning while Sandboxes are created, suspended, resumed, expired and deleted",
		Long: `chaos kills the controller by SIGKILL every 1 to 10 s while ten users create, suspend, resume, expire, delete,
orphan and recreate Sandboxes. A watch fails the run at once when a Sandbox has two Pods; in the end every object is
compared with what its user last wrote. Once with one controller, once with two of which one is elected. What users do and
when kills are due follows from the seed.

With --subject claims, a thousand claims are created, expired, revived and deleted on warm pools that are scaled and edited, while
two controllers of the core and two of the extensions are killed, and kube-apiserver and etcd once each.

Without --kubeconfig it starts a control plane of its own with simulated nodes, and takes it down again. It fails when
anything is not as it should be, and then tells what happened before. Logs and diaries are in bin/chaos-logs.`,
		Example: `  chaos --seed 7
  chaos --variant elected --sandboxes 60 --duration 30s -o json
  chaos --subject claims --claims 150 --duration 60s`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd, o, choice{subject, variant, output}) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Root, "root", "", "the repository's root (default: the nearest directory with a go.work, upwards)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "an existing cluster, on which no Agent Sandbox controller works; requests are not counted there")
	flags.IntVar(&o.Nodes, "nodes", o.Nodes, "simulated nodes of a control plane of its own")
	flags.StringVar(&subject, "subject", subject, "what users work on: sandboxes, claims, or all one after the other")
	flags.StringVar(&variant, "variant", variant, "how controllers of Sandboxes run: single, elected, or both one after the other")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "what users do and when controllers are killed")
	flags.IntVar(&o.Sandboxes, "sandboxes", o.Sandboxes, "names of Sandboxes")
	flags.IntVar(&o.Claims, "claims", o.Claims, "names of claims")
	flags.DurationVar(&o.Duration, "duration", o.Duration, "how long users work and controllers are killed, in each run")
	flags.StringVarP(&output, "output", "o", output, "table or json")
	return cmd
}

// choice is what is asked for by words.
type choice struct{ subject, variant, output string }

func run(cmd *cobra.Command, o chaos.Options, c choice) error {
	write := chaos.WriteTable
	switch c.output {
	case table:
	case json:
		write = chaos.WriteJSON
	default:
		return fmt.Errorf("--output=%s: must be %s or %s", c.output, table, json)
	}
	o.Variants, o.Subjects = []chaos.Variant{chaos.Variant(c.variant)}, []chaos.Subject{chaos.Subject(c.subject)}
	if c.variant == both {
		o.Variants = chaos.Variants()
	}
	if c.subject == all {
		o.Subjects = chaos.Subjects()
	}
	if o.Root == "" {
		root, err := devcluster.FindRoot(".")
		if err != nil {
			return fmt.Errorf("%w; name it with --root", err)
		}
		o.Root = root
	}
	o.Progress = cmd.ErrOrStderr()
	results, err := chaos.Run(cmd.Context(), o)
	if len(results) > 0 {
		if err := write(cmd.OutOrStdout(), results); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return verdict(results)
}

// verdict is an error when anything is not as it should be.
func verdict(results []chaos.Result) error {
	violations := 0
	for _, result := range results {
		violations += len(result.Violations)
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	return nil
}
