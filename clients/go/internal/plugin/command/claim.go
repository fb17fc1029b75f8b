package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/manifest"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

func (t *tool) claim() *cobra.Command {
	var (
		options manifest.ClaimOptions
		after   time.Duration
	)
	cmd := &cobra.Command{
		Use:     "claim NAME --pool=POOL",
		Short:   "Claim a Sandbox of a warm pool, and wait until it is ready",
		GroupID: groupLife,
		Args:    names(1, 1),
		Example: `  kubectl sandbox claim my-session --pool=my-agents
  kubectl sandbox claim my-session --pool=my-agents --ttl=8h
  kubectl sandbox claim my-session --pool=my-agents --env=TASK=42   # starts cold, where its template allows it`,
	}
	m := newMaking(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&options.Pool, "pool", "p", "", "Pool to take a Sandbox from.")
	flags.StringArrayVarP(&options.Env, "env", "e", nil, "Variable, as NAME=VALUE; the Sandbox is started cold then. May be given several times.")
	flags.StringVarP(&options.Container, "container", "c", "", "Container that --env is for; the first one without it.")
	flags.DurationVar(&options.TTL, "ttl", 0, "How long it lives; 0 is for ever.")
	flags.DurationVar(&after, "ttl-after-finished", 0, "How long it lives after its Pod has ended. Unset is for ever.")
	_ = cmd.RegisterFlagCompletionFunc("pool", t.complete(target.Pool))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := m.validate(); err != nil {
			return err
		}
		ref, err := parseAs(target.Claim, args[0])
		if err != nil {
			return err
		}
		pool, err := poolOf(options.Pool)
		if err != nil {
			return err
		}
		if flags.Changed("ttl-after-finished") {
			options.TTLAfterFinished = &after
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		options.Namespace, options.Name, options.Pool = c.Namespace, ref.Name, pool.Name
		claim, err := manifest.Claim(options, t.Clock.Now())
		if err != nil {
			return UsageError{err}
		}
		return t.make(cmd.Context(), c, m, claim)
	}
	return cmd
}

// poolOf reads --pool.
func poolOf(text string) (target.Ref, error) {
	if text == "" {
		return target.Ref{}, UsageError{errors.New("a claim needs a --pool; `kubectl sandbox pools` shows which there are")}
	}
	ref, err := parseAs(target.Pool, text)
	if err != nil {
		return ref, UsageError{fmt.Errorf("--pool: %w", err)}
	}
	return ref, nil
}
