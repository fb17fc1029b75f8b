package warmpool

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
	outcomes "sigs.k8s.io/agent-sandbox/shared/reconcile"
)

const (
	// retryFirst and retryLongest bound the pause before what failed is tried again; it doubles in between.
	retryFirst   = 100 * time.Millisecond
	retryLongest = time.Minute
)

// Members are the members of pools that can be taken.
type Members interface {
	// Count returns how many of a pool there are.
	Count(pool types.UID) int
	// Admits says whether a Pod with these tolerations may be handed out as far as its node goes.
	Admits(node string, tolerations []corev1.Toleration) bool
	// OnNodes registers who is told the pools of which members can be taken no more, or again, since a node has changed.
	OnNodes(tell func(pools []types.NamespacedName))
}

// Barrier is passed once the caches show everything that was written before this process became the leader.
type Barrier interface {
	Wait(ctx context.Context) error
}

// Config is what a Reconciler works with; every field is required.
type Config struct {
	// Client reads from the cache, with read-your-own-writes consistency, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder takes the Events.
	Recorder events.Recorder
	// Clock tells the time once in each pass.
	Clock clock.PassiveClock
	// Members are those that can be taken.
	Members Members
	// Barrier holds every pass back until it may trust the caches.
	Barrier Barrier
	// Unanswered remember members that may have been made.
	Unanswered *Unanswered
	// Echoes remember the status written last of each pool.
	Echoes *consistency.Echoes[types.UID]
	// Buckets pace the refill.
	Buckets *Buckets
	// Yields remember since when the refill of a pool gives way to claims.
	Yields *pacer.Pacer[types.UID]
	// Statuses remember since when the status of a pool is held back.
	Statuses *pacer.Pacer[types.UID]
	// Losses hold back what makes up for members that are lost.
	Losses *Losses
	// Arrivals remember when members became Ready.
	Arrivals *Arrivals
	// Closures remember since when members stand on nodes that nobody is handed out from.
	Closures *Closures
	// Limits bound what a pool does.
	Limits Limits
	// Evictable lets the nodes of members that are idle go.
	Evictable bool
	// Suffix returns that many random characters for the end of a member's name.
	Suffix func(length int) string
}

// Reconciler keeps a pool at its size.
type Reconciler struct {
	client     client.Client
	live       client.Reader
	recorder   events.Recorder
	clock      clock.PassiveClock
	members    Members
	barrier    Barrier
	unanswered *Unanswered
	echoes     *consistency.Echoes[types.UID]
	buckets    *Buckets
	yields     *pacer.Pacer[types.UID]
	statuses   *pacer.Pacer[types.UID]
	losses     *Losses
	arrivals   *Arrivals
	closures   *Closures
	limits     Limits
	evictable  bool
	suffix     func(length int) string
}

// New returns a Reconciler.
func New(config Config) *Reconciler {
	return &Reconciler{
		client:     config.Client,
		live:       config.Live,
		recorder:   config.Recorder,
		clock:      config.Clock,
		members:    config.Members,
		barrier:    config.Barrier,
		unanswered: config.Unanswered,
		echoes:     config.Echoes,
		buckets:    config.Buckets,
		yields:     config.Yields,
		statuses:   config.Statuses,
		losses:     config.Losses,
		arrivals:   config.Arrivals,
		closures:   config.Closures,
		limits:     config.Limits,
		evictable:  config.Evictable,
		suffix:     config.Suffix,
	}
}

// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxwarmpools,verbs=get;list;watch
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxwarmpools/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxwarmpools/finalizers,verbs=update
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxtemplates;sandboxclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes,verbs=get;list;watch;create;delete

// Reconcile works on one pool. When the process stops in the middle, that is no error: the next leader sees what is done and
// does the rest.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if err := r.barrier.Wait(ctx); err != nil {
		return ctrl.Result{}, nil //nolint:nilerr // The process stops.
	}
	outcome := r.reconcile(ctx, request.NamespacedName)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	return outcome.Result()
}

func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName) outcomes.Outcome {
	pool := &extensionsv1beta1.SandboxWarmPool{}
	err := r.client.Get(ctx, key, pool)
	switch {
	case apierrors.IsNotFound(err):
		return outcomes.Done()
	case err != nil:
		return outcomes.Failed(fmt.Errorf("reading SandboxWarmPool %q: %w", key.Name, err))
	case pool.DeletionTimestamp != nil:
		// Its owner references take the members along.
		return outcomes.Done()
	}
	s, err := r.observe(ctx, pool)
	if err != nil {
		return outcomes.Failed(err)
	}
	p := decide(s, r.limits)
	return r.report(ctx, s, p, r.act(ctx, s, p))
}

// Forget drops what is known of a pool that is gone.
func (r *Reconciler) Forget(pool types.UID) {
	r.unanswered.Forget(pool)
	r.echoes.Forget(pool)
	r.buckets.Forget(pool)
	r.yields.Forget(pool)
	r.statuses.Forget(pool)
	r.losses.Forget(pool)
	r.arrivals.Forget(pool)
	r.closures.Forget(pool)
}

// SetupWithManager registers the controller with as many workers.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int) error {
	forget := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.Forget(e.Object.GetUID())
		return false
	}}
	err := ctrl.NewControllerManagedBy(mgr).
		For(&extensionsv1beta1.SandboxWarmPool{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.PoolChanged}, forget)).
		Watches(&sandboxv1beta1.Sandbox{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &extensionsv1beta1.SandboxWarmPool{}, handler.OnlyControllerOwner()),
			builder.WithPredicates(predicate.NewPredicateFuncs(r.SeeMember))).
		Watches(&sandboxv1beta1.Sandbox{}, handler.EnqueueRequestsFromMapFunc(r.ThoseOfOrphan)).
		Watches(&extensionsv1beta1.SandboxTemplate{}, handler.EnqueueRequestsFromMapFunc(r.ThoseOfTemplate), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&extensionsv1beta1.SandboxClaim{}, handler.EnqueueRequestsFromMapFunc(PoolOfClaim), builder.WithPredicates(servedOrGone())).
		WatchesRawSource(source.Func(r.wakeByNodes)).
		WithOptions(outcomes.Options(workers, retryFirst, retryLongest)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("registering the controller of warm pools: %w", err)
	}
	return nil
}
