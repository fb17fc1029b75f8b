package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"sigs.k8s.io/agent-sandbox/core/internal/sandbox"
	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
)

const workersFlag = "sandbox-concurrent-workers"

// flags are those of the Sandbox controller.
type flags struct {
	workers       int
	disableEvents bool
	clusterDomain string
}

func newFlags() *flags {
	return &flags{workers: 100, clusterDomain: "cluster.local"}
}

func (f *flags) add(groups *cliflag.NamedFlagSets) {
	fs := groups.FlagSet("Sandboxes")
	fs.IntVar(&f.workers, workersFlag, f.workers, "Sandboxes that are reconciled at the same time; above 0.")
	fs.BoolVar(&f.disableEvents, "disable-sandbox-events", f.disableEvents, "Emit no Events about Sandboxes.")
	fs.StringVar(&f.clusterDomain, "cluster-domain", f.clusterDomain, "DNS domain of the cluster, the end of each Sandbox's serviceFQDN.")
}

func (f *flags) validate() error {
	return app.AboveZero(workersFlag, f.workers)
}

func (f *flags) setup(ctx context.Context, mgr manager.Manager) error {
	recorder := events.Discard()
	if !f.disableEvents {
		recorder = events.NewRecorder(mgr.GetEventRecorder("agent-sandbox-controller"))
	}
	return sandbox.New(sandbox.Config{
		Client:        mgr.GetClient(),
		Live:          mgr.GetAPIReader(),
		Recorder:      recorder,
		Clock:         clock.RealClock{},
		Pacer:         pacer.New[types.NamespacedName](),
		Echoes:        consistency.NewEchoes[types.NamespacedName](),
		ClusterDomain: f.clusterDomain,
	}).SetupWithManager(ctx, mgr, f.workers)
}
