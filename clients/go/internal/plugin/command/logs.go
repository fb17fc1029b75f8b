package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// everyLine is --tail without a limit.
const everyLine = -1

func (t *tool) logs() *cobra.Command {
	var (
		options corev1.PodLogOptions
		tail    int64
		since   time.Duration
	)
	cmd := &cobra.Command{
		Use:     "logs NAME",
		Short:   "Show what a Sandbox writes",
		GroupID: groupUse,
		Long:    `Show what the container of a Sandbox's Pod writes. That of a Sandbox without a Pod is gone.`,
		Example: `  kubectl sandbox logs my-sandbox -f --tail=10
  kubectl sandbox logs claim/my-session -c main --previous`,
		Args:              names(1, 1),
		ValidArgsFunction: t.complete(target.Any),
	}
	flags := cmd.Flags()
	flags.StringVarP(&options.Container, "container", "c", "", "Container that writes; without it the Pod's default, else its first.")
	flags.BoolVarP(&options.Follow, "follow", "f", false, "Go on as it writes.")
	flags.BoolVarP(&options.Previous, "previous", "p", false, "Of the container that ran before it was started again.")
	flags.BoolVar(&options.Timestamps, "timestamps", false, "With the time of each line.")
	flags.Int64Var(&tail, "tail", everyLine, "The last lines alone, so many; -1 is all.")
	flags.DurationVar(&since, "since", 0, "Not older than this; 0 is all.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case tail < everyLine:
			return UsageError{fmt.Errorf("--tail=%d: must be -1 or above", tail)}
		case since < 0 || since > 0 && since < time.Second:
			return UsageError{fmt.Errorf("--since=%s: must be a second or more, or 0", since)}
		}
		if tail != everyLine {
			options.TailLines = &tail
		}
		if since > 0 {
			options.SinceSeconds = ptr.To(int64(since.Seconds()))
		}
		return t.showLog(cmd.Context(), args[0], options)
	}
	return cmd
}

// showLog writes what a container of the Pod behind a name writes.
func (t *tool) showLog(ctx context.Context, name string, options corev1.PodLogOptions) (err error) {
	c, err := t.connect()
	if err != nil {
		return err
	}
	pod, err := t.pod(ctx, c, name)
	if err != nil {
		return err
	}
	container, err := podcmd.FindOrDefaultContainerByName(pod, options.Container, true, t.Streams.ErrOut)
	if err != nil {
		return fmt.Errorf("finding the container: %w", err)
	}
	options.Container = container.Name
	stream, err := c.Core.Pods(pod.Namespace).GetLogs(pod.Name, &options).Stream(ctx)
	if err != nil {
		return fmt.Errorf("reading the log of container %s of Pod %s: %w", container.Name, pod.Name, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if _, err := io.Copy(t.Streams.Out, stream); err != nil {
		return fmt.Errorf("reading the log of container %s of Pod %s: %w", container.Name, pod.Name, err)
	}
	return nil
}
