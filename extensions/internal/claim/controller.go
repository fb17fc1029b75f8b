package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	outcomes "sigs.k8s.io/agent-sandbox/shared/reconcile"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

const (
	// retryFirst and retryLongest bound the pause before what failed is tried again; it doubles in between.
	retryFirst   = 20 * time.Millisecond
	retryLongest = time.Minute
)

// passes is how often one reconcile decides about a claim that changes meanwhile.
const passes = 3

// Members are the members of pools that can be taken.
type Members interface {
	Take(pool types.UID, fits func(candidates.Member) bool) (candidates.Member, bool)
	Return(uid types.UID)
	Written(uid types.UID, version string)
	Forget(uid types.UID)
	Expected(pool types.UID) bool
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
	// LastWrites remember the Sandbox written last for each claim.
	LastWrites *consistency.LastWrites[types.NamespacedName, types.NamespacedName]
	// Echoes remember the status written last of each claim.
	Echoes *consistency.Echoes[types.NamespacedName]
	// Barrier holds every pass back until it may trust the caches.
	Barrier Barrier
	// Observability writes annotations on claims for people to look at.
	Observability bool
	// Metrics count the claims that are served; nil: none are kept.
	Metrics *Metrics
	// Tracer follows each pass.
	Tracer trace.Tracer
	// LabelDomains are those under which claims may label their Pods.
	LabelDomains blueprint.LabelDomains
}

// Reconciler gives a claim its Sandbox and tells in its status how that fares.
type Reconciler struct {
	client        client.Client
	live          client.Reader
	recorder      events.Recorder
	clock         clock.PassiveClock
	members       Members
	lastWrites    *consistency.LastWrites[types.NamespacedName, types.NamespacedName]
	echoes        *consistency.Echoes[types.NamespacedName]
	barrier       Barrier
	observability bool
	domains       blueprint.LabelDomains
	metrics       *Metrics
	tracer        trace.Tracer
}

// New returns a Reconciler.
func New(config Config) *Reconciler {
	return &Reconciler{
		client:        config.Client,
		live:          config.Live,
		recorder:      config.Recorder,
		clock:         config.Clock,
		members:       config.Members,
		lastWrites:    config.LastWrites,
		echoes:        config.Echoes,
		barrier:       config.Barrier,
		observability: config.Observability,
		domains:       config.LabelDomains,
		metrics:       config.Metrics,
		tracer:        config.Tracer,
	}
}

// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxclaims/status,verbs=patch
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=extensions.agents.x-k8s.io,resources=sandboxwarmpools;sandboxtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// Reconcile works on one claim. When the process stops in the middle, that is no error: the next leader sees what is done and
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

// reconcile makes another pass when the claim has changed under the first, on the claim as the API server has it.
func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName) outcomes.Outcome {
	reader := client.Reader(r.client)
	for range passes {
		claim := &extensionsv1beta1.SandboxClaim{}
		err := reader.Get(ctx, key, claim)
		switch {
		case apierrors.IsNotFound(err):
			r.lastWrites.Forget(key)
			r.echoes.Forget(key)
			return outcomes.Done()
		case err != nil:
			return outcomes.Failed(fmt.Errorf("reading claim %q: %w", key.Name, err))
		case claim.DeletionTimestamp != nil:
			r.lastWrites.Forget(key)
			return outcomes.Done()
		}
		outcome, err := r.pass(ctx, claim)
		if !errors.Is(err, errMoved) {
			return either(outcome, err)
		}
		reader = r.live
	}
	return outcomes.Wait(pauseOutdated)
}

func either(outcome outcomes.Outcome, err error) outcomes.Outcome {
	if err != nil {
		return outcomes.Failed(err)
	}
	return outcome
}

func (r *Reconciler) pass(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) (outcomes.Outcome, error) {
	ctx, span := telemetry.Reconcile(ctx, r.tracer, extensionsv1beta1.SandboxClaimKind, claim, sandboxv1beta1.AnnotationTraceContext)
	defer span.End()
	var p plan
	d := done{claimVersion: claim.ResourceVersion}
	s, err := r.observe(ctx, claim)
	if err == nil {
		r.metrics.watch(s)
		p = decide(s)
		d = r.act(ctx, s, p)
	}
	d.fail(err)
	telemetry.Failed(span, "the claim is not served", d.errors)
	return r.report(ctx, s, p, d)
}

// SetupWithManager registers the controller with as many workers.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int) error {
	err := r.watches(ctrl.NewControllerManagedBy(mgr)).
		WithOptions(outcomes.Options(workers, retryFirst, retryLongest)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("registering the claim controller: %w", err)
	}
	return nil
}
