package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// Environment is what the commands stand on.
type Environment struct {
	Streams genericiooptions.IOStreams
	Clock   clock.WithTicker
	// Version is that of the build.
	Version string
}

// tool is what the verbs have in common.
type tool struct {
	Environment
	flags *genericclioptions.ConfigFlags
}

// fieldOwner is who the API server holds for the writer of what the commands write.
const fieldOwner = "kubectl-sandbox"

const long = `Work with Sandboxes: isolated, stateful environments for AI agents.

Names are given as sandbox/NAME, claim/NAME, pool/NAME or template/NAME. A bare NAME is that of a Sandbox, else of a claim.
What is run, copied, forwarded or logged of a claim is that of the Sandbox which it has.

Exit codes: 0 done, 1 not done (doctor: something is stuck), 2 wrong usage, 3 timed out waiting. exec passes on that of the command.`

// New returns the plugin's root command. Errors are not printed; see Exit.
func New(env Environment) *cobra.Command {
	t := &tool{Environment: env, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use:   "kubectl-sandbox",
		Short: "Work with Sandboxes",
		Long:  long,
		Example: `  kubectl sandbox create my-sandbox --image=python:3.13 -- sleep infinity
  kubectl sandbox exec my-sandbox -it -- sh
  kubectl sandbox doctor my-sandbox`,
		// Under kubectl it is a word of kubectl's.
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sandbox"},
		Version:       env.Version,
		Args:          noSuchVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(env.Streams.In)
	root.SetOut(env.Streams.Out)
	root.SetErr(env.Streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return UsageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	t.flags.AddFlags(root.PersistentFlags())
	hideRareFlags(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("namespace", t.completeNamespaces)
	root.AddGroup(&cobra.Group{ID: groupLife, Title: "Lives of Sandboxes:"}, &cobra.Group{ID: groupUse, Title: "Use them:"}, &cobra.Group{ID: groupSee, Title: "See what is there:"})
	root.AddCommand(
		t.create(), t.claim(), t.suspend(), t.resume(), t.extend(), t.remove(),
		t.exec(), t.copy(), t.logs(), t.portForward(),
		t.list(), t.get(), t.pools(), t.top(), t.doctor(),
	)
	return root
}

// The groups of verbs in the help.
const (
	groupLife = "life"
	groupUse  = "use"
	groupSee  = "see"
)

func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UsageError{fmt.Errorf("there is no command %q; see `%s --help`", args[0], cmd.CommandPath())}
}

// hideRareFlags keeps the help short: all flags of kubectl work, those are shown that matter to most.
func hideRareFlags(flags *pflag.FlagSet) {
	shown := []string{"namespace", "context", "kubeconfig", "as"}
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shown, flag.Name) })
}

func (t *tool) connect() (*cluster.Cluster, error) {
	return cluster.Connect(t.flags, t.Streams.ErrOut)
}

// names wants so many names at least, and as many at most; -1 is any number.
func names(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return UsageError{fmt.Errorf("%d arguments: use `%s`; see --help", len(args), cmd.UseLine())}
		}
		return nil
	}
}

func parse(text string) (target.Ref, error) {
	ref, err := target.Parse(text)
	if err != nil {
		return ref, UsageError{err}
	}
	return ref, nil
}

// parseAs reads a name of one kind, which may be bare.
func parseAs(kind target.Kind, text string) (target.Ref, error) {
	ref, err := parse(text)
	if err != nil {
		return ref, err
	}
	if ref.Kind != target.Any && ref.Kind != kind {
		return ref, UsageError{fmt.Errorf("%q: this is about a %s: give %s/%s", text, kind, kind, ref.Name)}
	}
	return target.Ref{Kind: kind, Name: ref.Name}, nil
}
