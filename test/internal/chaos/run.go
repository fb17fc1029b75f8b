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
	// Subjects are run one after the other, Sandboxes in each of Variants, and claims with elected controllers.
	Subjects []Subject
	Variants []Variant
	// Seed and Duration are those of every run, see Settings. Sandboxes and Claims are the numbers of their names.
	Seed              uint64
	Sandboxes, Claims int
	Duration          time.Duration
	// Progress receives what is being done, line by line; io.Discard for nothing.
	Progress io.Writer
}

// settings are those of all runs.
func (o Options) settings() []Settings {
	var all []Settings
	for _, subject := range o.Subjects {
		variants, names := o.Variants, o.Sandboxes
		if subject == Claims {
			variants, names = []Variant{Elected}, o.Claims
		}
		for _, v := range variants {
			all = append(all, Settings{
				Subject: subject, Variant: v, Seed: o.Seed, Names: names, Duration: o.Duration,
				LeastPause: LeastPause, MostPause: MostPause, Progress: o.Progress,
			})
		}
	}
	return all
}

// Run brings up what is needed, plays all that is asked for, and leaves everything as it was. Violations are in the results.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Progress == nil {
		return nil, errors.New("no writer for progress: pass io.Discard for none")
	}
	for _, s := range o.settings() {
		if err := s.validate(); err != nil {
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
	for _, s := range e.options.settings() {
		result, err := Play(ctx, stage, s)
		if err != nil {
			return results, fmt.Errorf("run %s: %w", s.Name(), err)
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
