package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/podexec"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

func (t *tool) exec() *cobra.Command {
	var (
		container  string
		stdin, tty bool
	)
	cmd := &cobra.Command{
		Use:     "exec NAME [-it] -- COMMAND [ARGS...]",
		Short:   "Run a command in a Sandbox",
		GroupID: groupUse,
		Long:    `Run a command in the Pod of a Sandbox. The exit code is that of the command.`,
		Example: `  kubectl sandbox exec my-sandbox -- python -c 'print(42)'
  kubectl sandbox exec claim/my-session -it -- sh`,
		ValidArgsFunction: t.complete(target.Any),
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return UsageError{errors.New("give a NAME and a command behind --, as `kubectl sandbox exec my-sandbox -- ls`")}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&container, "container", "c", "", "Container to run it in; without it the Pod's default, else its first.")
	flags.BoolVarP(&stdin, "stdin", "i", false, "Pass standard input on.")
	flags.BoolVarP(&tty, "tty", "t", false, "It runs on a terminal; needs -i.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if tty && !stdin {
			return UsageError{errors.New("--tty: a terminal needs --stdin, too: give -it")}
		}
		c, err := t.connect()
		if err != nil {
			return err
		}
		in, err := t.container(cmd.Context(), c, args[0], container)
		if err != nil {
			return err
		}
		streams := podexec.Streams{Out: t.Streams.Out, ErrOut: t.Streams.ErrOut}
		if stdin {
			streams.In = t.Streams.In
		}
		if tty && printers.IsTerminal(t.Streams.In) {
			return in.RunInTerminal(cmd.Context(), args[1:], streams)
		}
		if tty {
			fmt.Fprintln(t.Streams.ErrOut, "Standard input is no terminal: the command gets none.")
		}
		return in.Run(cmd.Context(), args[1:], streams)
	}
	return cmd
}

// pod finds the Pod behind a name.
func (t *tool) pod(ctx context.Context, c *cluster.Cluster, name string) (*corev1.Pod, error) {
	ref, err := parse(name)
	if err != nil {
		return nil, err
	}
	sandbox, err := c.Finder().Sandbox(ctx, ref)
	if err != nil {
		return nil, err
	}
	return c.Finder().Pod(ctx, sandbox)
}

// container finds a container of the Pod behind a name: the one that is named, else the Pod's default, else its first.
func (t *tool) container(ctx context.Context, c *cluster.Cluster, name, container string) (podexec.Container, error) {
	pod, err := t.pod(ctx, c, name)
	if err != nil {
		return podexec.Container{}, err
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return podexec.Container{}, fmt.Errorf("%s: its Pod has ended (%s): `kubectl sandbox logs` shows what it said", name, pod.Status.Phase)
	}
	found, err := podcmd.FindOrDefaultContainerByName(pod, container, true, t.Streams.ErrOut)
	if err != nil {
		return podexec.Container{}, fmt.Errorf("finding the container: %w", err)
	}
	return podexec.Container{Config: c.Config, Core: c.Core, Namespace: pod.Namespace, Pod: pod.Name, Name: found.Name}, nil
}
