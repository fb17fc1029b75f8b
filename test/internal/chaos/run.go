package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options say what to run, and where.
type Options struct {
	// Root is the repository's: the controller is built from it, and a cluster of its own kept in it.
	Root string
	// Kubeconfig reaches an existing cluster on which no Agent Sandbox controller works; empty: a cluster of its own.
	Kubeconfig string
	// Nodes is the number of simulated nodes of a cluster of its own.
	Nodes int
	// Variants are run one after the other.
	Variants []Variant
	// Seed, Sandboxes and Duration are those of every variant, see Settings.
	Seed      uint64
	Sandboxes int
	Duration  time.Duration
	// Progress receives what is being done, line by line; io.Discard for nothing.
	Progress io.Writer
}

// settings are those of one variant.
func (o Options) settings(v Variant) Settings {
	return Settings{
		Variant: v, Seed: o.Seed, Sandboxes: o.Sandboxes, Duration: o.Duration,
		LeastPause: LeastPause, MostPause: MostPause, Progress: o.Progress,
	}
}

// Run brings up what is needed, plays all variants, and leaves everything as it was. Violations are in the results.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Progress == nil {
		return nil, errors.New("no writer for progress: pass io.Discard for none")
	}
	for _, v := range o.Variants {
		if err := o.settings(v).validate(); err != nil {
			return nil, err
		}
	}
	if o.Nodes < 1 {
		return nil, fmt.Errorf("--nodes=%d: must be above 0", o.Nodes)
	}
	fmt.Fprintf(o.Progress, "chaos: seed %d\n", o.Seed)
	e := &environment{options: o}
	results, err := e.run(ctx)
	return results, errors.Join(err, e.leave(ctx))
}

func (e *environment) run(ctx context.Context) ([]Result, error) {
	stage, err := e.prepare(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, v := range e.options.Variants {
		result, err := Play(ctx, stage, e.options.settings(v))
		if err != nil {
			return results, fmt.Errorf("variant %s: %w", v, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// logDir is where logs and diaries are, below the root.
func logDir(root string) (string, error) {
	dir := filepath.Join(root, "bin", "chaos-logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a directory for logs: %w", err)
	}
	return dir, nil
}
