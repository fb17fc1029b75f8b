package program

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

const (
	claimWorkersFlag    = "sandbox-claim-concurrent-workers"
	poolWorkersFlag     = "sandbox-warm-pool-concurrent-workers"
	batchFlag           = "sandbox-warm-pool-max-batch-size"
	refillRateFlag      = "sandbox-warm-pool-max-refill-rate"
	delayFlag           = "sandbox-warm-pool-replenish-delay"
	graceFlag           = "sandbox-warm-pool-readiness-grace-period"
	recheckFlag         = "sandbox-warm-pool-unschedulable-recheck-interval"
	templateWorkersFlag = "sandbox-template-concurrent-workers"
	routerNamespaceFlag = "router-namespace"
)

// manyWorkers is how many are more than an API server of any size profits from.
const manyWorkers = 1000

// flags are those of the controllers of warm pools and claims.
type flags struct {
	claimWorkers, poolWorkers, templateWorkers int
	routerNamespace                            string
	batch                                      int
	refillRate                                 float64
	delay, grace, recheck                      time.Duration
	evictable                                  bool
	disableEvents                              bool
	disableObservability                       bool
}

func newFlags() *flags {
	return &flags{
		claimWorkers: 50, poolWorkers: 1, templateWorkers: 1, routerNamespace: "agent-sandbox-system",
		batch: 300, grace: 5 * time.Minute, recheck: time.Minute, evictable: true,
	}
}

func (f *flags) add(groups *cliflag.NamedFlagSets) {
	claims := groups.FlagSet("Claims")
	claims.IntVar(&f.claimWorkers, claimWorkersFlag, f.claimWorkers, "Claims that are reconciled at the same time; above 0.")
	claims.BoolVar(&f.disableEvents, "disable-claim-events", f.disableEvents, "Emit no Events about claims.")
	claims.BoolVar(&f.disableObservability, "disable-claim-observability-annotations", f.disableObservability,
		"Do not write on each claim when it was first seen, which Sandbox it was given and in which trace.")
	pools := groups.FlagSet("Warm pools")
	pools.IntVar(&f.poolWorkers, poolWorkersFlag, f.poolWorkers, "Pools that are reconciled at the same time; above 0.")
	pools.IntVar(&f.batch, batchFlag, f.batch, "Members of a pool that are made, and that are deleted, in one pass; above 0.")
	pools.Float64Var(&f.refillRate, refillRateFlag, f.refillRate, "Members that are made in a second, for each pool; 0 is no limit.")
	pools.DurationVar(&f.delay, delayFlag, f.delay,
		"How long members that were taken or lost are not made up for; 0 or above. A new pool, or a larger one, is filled at once.")
	pools.DurationVar(&f.grace, graceFlag, f.grace,
		"How long a member may take to become Ready before it is replaced, unless its pool says otherwise; above 0.")
	pools.DurationVar(&f.recheck, recheckFlag, f.recheck, "How soon a pool is looked at again whose members find no node; above 0.")
	pools.BoolVar(&f.evictable, "enable-warm-pool-eviction", f.evictable,
		"Let the cluster autoscaler remove the nodes of members that wait, unless their template says otherwise. Of those that are made from now on.")
	templates := groups.FlagSet("Templates")
	templates.IntVar(&f.templateWorkers, templateWorkersFlag, f.templateWorkers, "Templates that are reconciled at the same time; above 0.")
	templates.StringVar(&f.routerNamespace, routerNamespaceFlag, f.routerNamespace,
		"The namespace of the router, which the NetworkPolicy of a template admits unless the template says otherwise.")
}

func (f *flags) validate() error {
	for _, flag := range []struct {
		name  string
		value int
	}{{claimWorkersFlag, f.claimWorkers}, {poolWorkersFlag, f.poolWorkers}, {templateWorkersFlag, f.templateWorkers}, {batchFlag, f.batch}} {
		if err := app.AboveZero(flag.name, flag.value); err != nil {
			return err
		}
	}
	if math.IsNaN(f.refillRate) || math.IsInf(f.refillRate, 0) || f.refillRate < 0 {
		return fmt.Errorf("--%s=%v: must be finite and 0 or above", refillRateFlag, f.refillRate)
	}
	if err := app.NotNegative(delayFlag, f.delay); err != nil {
		return err
	}
	if err := app.AboveZero(graceFlag, f.grace); err != nil {
		return err
	}
	if err := app.AboveZero(recheckFlag, f.recheck); err != nil {
		return err
	}
	if wrong := validation.IsDNS1123Label(f.routerNamespace); len(wrong) > 0 {
		return fmt.Errorf("--%s=%s: must be the name of a namespace: %s", routerNamespaceFlag, f.routerNamespace, wrong[0])
	}
	return nil
}

func (f *flags) warnings() []string {
	total := f.claimWorkers + f.poolWorkers + f.templateWorkers
	if total <= manyWorkers {
		return nil
	}
	return []string{fmt.Sprintf("--%s=%d, --%s=%d and --%s=%d: more than %d workers keep the API server busy rather than claims fast",
		claimWorkersFlag, f.claimWorkers, poolWorkersFlag, f.poolWorkers, templateWorkersFlag, f.templateWorkers, manyWorkers)}
}

// cacheOptions say what the informers keep.
func cacheOptions(*app.Options) (map[client.Object]cache.ByObject, error) {
	return controllers.CacheOptions(), nil
}

// labelDomainsKey is the key of the ConfigMap that names the domains under which claims may label their Pods.
const labelDomainsKey = "allowed-label-domains"

func (f *flags) setup(ctx context.Context, in app.Environment) error {
	setting, err := app.Setting(labelDomainsKey)
	if err != nil {
		return err
	}
	domains, err := blueprint.ParseLabelDomains(setting)
	if err != nil {
		return fmt.Errorf("key %s of the ConfigMap agent-sandbox-config: %w", labelDomainsKey, err)
	}
	return controllers.Setup(ctx, in.Manager, controllers.Settings{
		ClaimWorkers: f.claimWorkers, PoolWorkers: f.poolWorkers, TemplateWorkers: f.templateWorkers, RouterNamespace: f.routerNamespace,
		Events: in.Events, ClaimEvents: !f.disableEvents, Observability: !f.disableObservability,
		LabelDomains: domains, Metrics: in.Metrics, Tracer: in.Tracer,
		Batch: f.batch, RefillRate: f.refillRate, ReplenishDelay: f.delay, Grace: f.grace, Recheck: f.recheck, Evictable: f.evictable,
	})
}
