package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/await"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/cluster"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/progress"
	"sigs.k8s.io/agent-sandbox/clients/go/internal/plugin/target"
)

// defaultTimeout is how long a Sandbox may take.
const defaultTimeout = 3 * time.Minute

// waiting is what --wait and --timeout say.
type waiting struct {
	wait    bool
	timeout time.Duration
	quiet   bool
}

func (w *waiting) add(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.BoolVar(&w.wait, "wait", true, "Wait until "+what+", and say meanwhile on standard error what is being waited for.")
	flags.DurationVar(&w.timeout, "timeout", defaultTimeout, "How long to wait, for each of several; above 0. Exit code 3 if that is not enough.")
	flags.BoolVarP(&w.quiet, "quiet", "q", false, "Do not say what is being waited for.")
}

func (w *waiting) validate() error {
	if w.timeout <= 0 {
		return UsageError{fmt.Errorf("--timeout=%s: must be above 0; --wait=false waits for nothing", w.timeout)}
	}
	return nil
}

// until waits until the object is as wanted and returns it as it was then. what says what it is to do.
func (t *tool) until(ctx context.Context, c *cluster.Cluster, w waiting, object client.Object, what string, goal await.Goal) (client.Object, error) {
	line := t.progress(w)
	defer line.End()
	waiter := await.Waiter{API: c.Client, Clock: t.Clock, Progress: line, Timeout: w.timeout}
	seen, err := waiter.Until(ctx, object, what, goal)
	if err != nil {
		return nil, fmt.Errorf("%w; `kubectl sandbox doctor %s -n %s` tells more", err, target.Of(object), object.GetNamespace())
	}
	return seen, nil
}

func (t *tool) progress(w waiting) progress.Line {
	out := t.Streams.ErrOut
	switch {
	case w.quiet:
		return progress.None()
	case printers.IsTerminal(out):
		columns := 0
		if size := (term.TTY{Out: out}).GetSize(); size != nil {
			columns = int(size.Width)
		}
		return progress.Terminal(out, t.Clock, columns)
	}
	return progress.Log(out)
}
