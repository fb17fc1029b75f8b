package main

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	toolscache "k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
	"sigs.k8s.io/agent-sandbox/extensions/internal/barrier"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/events"
)

const (
	claimWorkersFlag = "sandbox-claim-concurrent-workers"
	poolWorkersFlag  = "sandbox-warm-pool-concurrent-workers"
	batchFlag        = "sandbox-warm-pool-max-batch-size"
	refillRateFlag   = "sandbox-warm-pool-max-refill-rate"
	graceFlag        = "sandbox-warm-pool-readiness-grace-period"
	recheckFlag      = "sandbox-warm-pool-unschedulable-recheck-interval"
)

// manyWorkers is how many are more than an API server of any size profits from.
const manyWorkers = 1000

// flags are those of the controllers of warm pools and claims.
type flags struct {
	claimWorkers, poolWorkers int
	batch                     int
	refillRate                float64
	grace, recheck            time.Duration
	disableEvents             bool
	disableObservability      bool
}

func newFlags() *flags {
	return &flags{claimWorkers: 50, poolWorkers: 1, batch: 300, grace: 5 * time.Minute, recheck: time.Minute}
}

func (f *flags) add(groups *cliflag.NamedFlagSets) {
	claims := groups.FlagSet("Claims")
	claims.IntVar(&f.claimWorkers, claimWorkersFlag, f.claimWorkers, "Claims that are reconciled at the same time; above 0.")
	claims.BoolVar(&f.disableEvents, "disable-claim-events", f.disableEvents, "Emit no Events about claims.")
	claims.BoolVar(&f.disableObservability, "disable-claim-observability-annotations", f.disableObservability,
		"Do not write on each claim when it was first seen and which Sandbox it was given.")
	pools := groups.FlagSet("Warm pools")
	pools.IntVar(&f.poolWorkers, poolWorkersFlag, f.poolWorkers, "Pools that are reconciled at the same time; above 0.")
	pools.IntVar(&f.batch, batchFlag, f.batch, "Members of a pool that are made, and that are deleted, in one pass; above 0.")
	pools.Float64Var(&f.refillRate, refillRateFlag, f.refillRate, "Members that are made in a second, for each pool; 0 is no limit.")
	pools.DurationVar(&f.grace, graceFlag, f.grace,
		"How long a member may take to become Ready before it is replaced, unless its pool says otherwise; above 0.")
	pools.DurationVar(&f.recheck, recheckFlag, f.recheck, "How soon a pool is looked at again whose members find no node; above 0.")
}

func (f *flags) validate() error {
	for _, flag := range []struct {
		name  string
		value int
	}{{claimWorkersFlag, f.claimWorkers}, {poolWorkersFlag, f.poolWorkers}, {batchFlag, f.batch}} {
		if err := app.AboveZero(flag.name, flag.value); err != nil {
			return err
		}
	}
	if math.IsNaN(f.refillRate) || math.IsInf(f.refillRate, 0) || f.refillRate < 0 {
		return fmt.Errorf("--%s=%v: must be finite and 0 or above", refillRateFlag, f.refillRate)
	}
	for name, value := range map[string]time.Duration{graceFlag: f.grace, recheckFlag: f.recheck} {
		if value <= 0 {
			return fmt.Errorf("--%s=%s: must be above 0", name, value)
		}
	}
	return nil
}

func (f *flags) warnings() []string {
	total := f.claimWorkers + f.poolWorkers
	if total <= manyWorkers {
		return nil
	}
	return []string{fmt.Sprintf("--%s=%d and --%s=%d: more than %d workers keep the API server busy rather than claims fast",
		claimWorkersFlag, f.claimWorkers, poolWorkersFlag, f.poolWorkers, manyWorkers)}
}

// cacheOptions say what the informers keep: no record of who manages which field.
func cacheOptions(*app.Options) (map[client.Object]cache.ByObject, error) {
	bare := cache.ByObject{Transform: cache.TransformStripManagedFields()}
	return map[client.Object]cache.ByObject{
		&sandboxv1beta1.Sandbox{}:            bare,
		&extensionsv1beta1.SandboxClaim{}:    bare,
		&extensionsv1beta1.SandboxWarmPool{}: bare,
		&extensionsv1beta1.SandboxTemplate{}: bare,
		&corev1.Node{}:                       {Transform: stripNode},
	}, nil
}

// stripNode keeps what decides whether the Pods on a node may be handed out.
func stripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields, node.Annotations = nil, nil
	node.Status = corev1.NodeStatus{Conditions: node.Status.Conditions}
	return node, nil
}

func (f *flags) setup(ctx context.Context, in app.Environment) error {
	mgr := in.Manager
	if err := index.Add(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	members := controllers.NewCandidates()
	var synced []func() bool
	for _, feed := range []struct {
		of      client.Object
		handler toolscache.ResourceEventHandler
	}{{&sandboxv1beta1.Sandbox{}, members.SandboxHandler()}, {&corev1.Node{}, members.NodeHandler()}} {
		informer, err := mgr.GetCache().GetInformer(ctx, feed.of, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("making an informer of %T: %w", feed.of, err)
		}
		registration, err := informer.AddEventHandler(feed.handler)
		if err != nil {
			return fmt.Errorf("listening to an informer of %T: %w", feed.of, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	gate := barrier.New(mgr.GetClient(), mgr.GetAPIReader(), barrierKinds(), synced...)
	if err := mgr.Add(gate); err != nil {
		return fmt.Errorf("adding the barrier of a new leader: %w", err)
	}
	recorder := events.NewRecorder(mgr.GetEventRecorder("agent-sandbox-extensions-controller"))
	claimEvents := recorder
	if f.disableEvents {
		claimEvents = events.Discard()
	}
	both := controllers.New(members, controllers.Surroundings{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), ClaimEvents: claimEvents, PoolEvents: recorder,
		Clock: clock.RealClock{}, Barrier: gate, Members: controllers.Undecorated, Suffix: rand.String,
	}, controllers.Settings{
		Observability: !f.disableObservability, Batch: f.batch, RefillRate: f.refillRate, Grace: f.grace, Recheck: f.recheck,
	})
	if err := both.Claims.SetupWithManager(mgr, f.claimWorkers); err != nil {
		return err
	}
	return both.Pools.SetupWithManager(mgr, f.poolWorkers)
}

func barrierKinds() []barrier.Kind {
	return []barrier.Kind{
		{
			GroupVersionKind: sandboxv1beta1.GroupVersion.WithKind(sandboxv1beta1.SandboxKind),
			New:              func() client.Object { return &sandboxv1beta1.Sandbox{} },
		},
		{
			GroupVersionKind: extensionsv1beta1.GroupVersion.WithKind(extensionsv1beta1.SandboxClaimKind),
			New:              func() client.Object { return &extensionsv1beta1.SandboxClaim{} },
		},
	}
}
