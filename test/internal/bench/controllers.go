package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/agent-sandbox/test/internal/bench/usage"
	"sigs.k8s.io/agent-sandbox/test/internal/install"
)

// controller is one of the two that are measured.
type controller struct {
	// label is its name in the report.
	label string
	// deployment is its name in the assets, and that of its ServiceAccount.
	deployment string
	// reconcilers are those of its parts that work, by their names in controller-runtime's metrics.
	reconcilers []string
}

func coreController() controller {
	return controller{label: "core", deployment: install.CoreController, reconcilers: []string{"sandbox"}}
}

func extensionsController() controller {
	return controller{label: "extensions", deployment: install.ExtensionsController, reconcilers: []string{"sandboxclaim", "sandboxwarmpool"}}
}

// controllers are all there are.
func controllers() []controller { return []controller{coreController(), extensionsController()} }

func (c controller) user() string {
	return install.UserOf(c.deployment)
}

// process is a controller that runs.
type process struct {
	controller
	running *install.Controller
}

func (p process) read(ctx context.Context) (processReading, error) {
	used, unread := usage.Of(p.running.PID())
	metrics, unscraped := usage.Scrape(ctx, p.running.MetricsURL())
	return processReading{used: used, metrics: metrics}, errors.Join(unread, unscraped)
}

// readAtRest has the garbage of the process collected, and reads it once the memory has gone back to the system.
func (p process) readAtRest(ctx context.Context) (processReading, error) {
	if err := usage.Touch(ctx, p.running.HeapURL()); err != nil {
		return processReading{}, err
	}
	// A first collection only ends what earlier ones had spared; the second frees it.
	if err := usage.Touch(ctx, p.running.HeapURL()); err != nil {
		return processReading{}, err
	}
	now, err := p.read(ctx)
	if err != nil {
		return now, err
	}
	err = settle(ctx, slack, patience, func() (int64, error) {
		const step = 1 << 20 // smaller differences are no news
		used, err := usage.Of(p.running.PID())
		now.used.Size = min(now.used.Size, used.Size)
		return now.used.Size / step, err
	})
	return now, err
}

// startAll starts controllers; those that run must be stopped, even after an error.
func (t turn) startAll(ctx context.Context, wanted []controller) ([]process, error) {
	var running []process
	for _, c := range wanted {
		started, err := install.StartController(ctx, t.config, install.ControllerOptions{
			Binary: t.binaries[c.deployment], ServiceAccount: c.deployment, Args: slices.Concat(t.benchmark.args, t.options.ControllerArgs), Log: io.Discard,
		})
		if err != nil {
			return running, fmt.Errorf("%s: %w", c.deployment, err)
		}
		running = append(running, process{c, started})
	}
	return running, nil
}

func stopAll(ctx context.Context, running []process) error {
	var all []error
	for _, p := range running {
		all = append(all, p.running.Stop(ctx))
	}
	return errors.Join(all...)
}

// cancelAtEnd cancels ctx when a controller ends before it.
func cancelAtEnd(ctx context.Context, p process, cancel context.CancelCauseFunc) {
	select {
	case <-p.running.Ended():
		cancel(fmt.Errorf("%s ended by itself:\n%s", p.deployment, p.running.LogTail()))
	case <-ctx.Done():
	}
}
