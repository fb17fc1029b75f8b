package program

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/core/cmd/controller/controllers"
	"sigs.k8s.io/agent-sandbox/core/internal/sandbox"
	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

const (
	workersFlag     = "sandbox-concurrent-workers"
	writeBehindFlag = "sandbox-write-behind-window"
	domainFlag      = "cluster-domain"
)

const (
	// manyWorkers is how many are more than an API server of any size profits from.
	manyWorkers = 1000
	// longestWriteBehind caps the window in which patches of Pod metadata are coalesced.
	longestWriteBehind = time.Second
)

// flags are those of the Sandbox controller.
type flags struct {
	workers       int
	disableEvents bool
	writeBehind   time.Duration
	clusterDomain string
}

func newFlags() *flags {
	return &flags{workers: 100, clusterDomain: "cluster.local"}
}

func (f *flags) add(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Sandboxes")
	fs.IntVar(&f.workers, workersFlag, f.workers, "Sandboxes that are reconciled at the same time; above 0.")
	fs.BoolVar(&f.disableEvents, "disable-sandbox-events", f.disableEvents, "Emit no Events about Sandboxes.")
	fs.DurationVar(&f.writeBehind, writeBehindFlag, f.writeBehind, "How long patches of Pod metadata wait for further ones; 0 and above, more than 1s counts as 1s.")
	fs.StringVar(&f.clusterDomain, domainFlag, f.clusterDomain, "DNS domain of the cluster, the end of each Sandbox's serviceFQDN.")
}

func (f *flags) validate() error {
	if err := app.AboveZero(workersFlag, f.workers); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Subdomain(f.clusterDomain); len(problems) > 0 {
		return fmt.Errorf("--%s=%q: must be a DNS name, as cluster.local: %s", domainFlag, f.clusterDomain, problems[0])
	}
	return app.NotNegative(writeBehindFlag, f.writeBehind)
}

func (f *flags) warnings() []string {
	if f.workers <= manyWorkers {
		return nil
	}
	return []string{fmt.Sprintf("--%s=%d: more than %d workers keep the API server busy rather than Sandboxes fast", workersFlag, f.workers, manyWorkers)}
}

// cacheOptions say what the informers keep.
func cacheOptions(options *app.Options) (map[client.Object]cache.ByObject, error) {
	if options.CacheLabelled {
		return sandbox.LabelledOnly(sandbox.CacheOptions())
	}
	return sandbox.CacheOptions(), nil
}

func (f *flags) setup(ctx context.Context, in app.Environment) error {
	recorder := events.Discard()
	if !f.disableEvents {
		recorder = in.Events
	}
	controller, err := controllers.New(controllers.Surroundings{
		Client: in.Manager.GetClient(), Live: in.Manager.GetAPIReader(), Events: recorder, Clock: clock.RealClock{},
		Metrics: in.Metrics, Tracer: in.Tracer,
	}, controllers.Settings{WriteBehind: min(f.writeBehind, longestWriteBehind), ClusterDomain: f.clusterDomain})
	if err != nil {
		return err
	}
	if err := in.Metrics.Register(sandbox.NewInventory(in.Manager.GetClient())); err != nil {
		return fmt.Errorf("registering the count of Sandboxes: %w", err)
	}
	return controller.SetupWithManager(ctx, in.Manager, f.workers)
}
