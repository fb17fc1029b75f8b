package sandbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
	outcomes "sigs.k8s.io/agent-sandbox/shared/reconcile"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
)

const (
	// retryFirst and retryLongest bound the pause before what failed is tried again; it doubles in between.
	retryFirst   = 20 * time.Millisecond
	retryLongest = time.Minute
	// retryBeforeWake is that pause in the last minute before something falls due, so that it is not missed.
	retryBeforeWake = 5 * time.Second
)

const (
	// StatusWindow is how long the first status that is a mere step on the way to Ready waits for a better one.
	StatusWindow = 500 * time.Millisecond
	// laterWindow is how long the next such steps of the same spec wait.
	laterWindow = 5 * time.Second
)

func sandboxKind() schema.GroupKind {
	return schema.GroupKind{Group: sandboxv1beta1.GroupName, Kind: sandboxv1beta1.SandboxKind}
}

// Config is what a Reconciler works with; every field is required.
type Config struct {
	// Client reads from the cache, with read-your-own-writes consistency, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder takes the Events.
	Recorder events.Recorder
	// Clock tells the time once in each reconcile.
	Clock clock.PassiveClock
	// Pacer holds statuses back that are mere steps on the way to Ready.
	Pacer *pacer.Pacer[types.NamespacedName]
	// Tries paces the creation of children that an obstacle blocks for as long as it is seen to stand.
	Tries *pacer.Pacer[types.NamespacedName]
	// WriteBehind holds patches of Pod metadata back, for WriteBehindWindow.
	WriteBehind *pacer.Pacer[types.NamespacedName]
	// WriteBehindWindow is how long; zero: not at all.
	WriteBehindWindow time.Duration
	// Echoes remembers what was written last of each Sandbox.
	Echoes *consistency.Echoes[types.NamespacedName]
	// ClusterDomain ends every DNS name, "cluster.local" on most clusters.
	ClusterDomain string
	// Metrics count what happens.
	Metrics *Metrics
	// Tracer follows each reconcile.
	Tracer trace.Tracer
}

// Reconciler brings the children and the status of a Sandbox in line with its spec.
type Reconciler struct {
	client            client.Client
	live              client.Reader
	recorder          events.Recorder
	clock             clock.PassiveClock
	pacer             *pacer.Pacer[types.NamespacedName]
	tries             *pacer.Pacer[types.NamespacedName]
	writeBehind       *pacer.Pacer[types.NamespacedName]
	writeBehindWindow time.Duration
	echoes            *consistency.Echoes[types.NamespacedName]
	clusterDomain     string
	metrics           *Metrics
	tracer            trace.Tracer
}

// New returns a Reconciler.
func New(config Config) *Reconciler {
	return &Reconciler{
		client:            config.Client,
		live:              config.Live,
		recorder:          config.Recorder,
		clock:             config.Clock,
		pacer:             config.Pacer,
		tries:             config.Tries,
		writeBehind:       config.WriteBehind,
		writeBehindWindow: config.WriteBehindWindow,
		echoes:            config.Echoes,
		clusterDomain:     config.ClusterDomain,
		metrics:           config.Metrics,
		tracer:            config.Tracer,
	}
}

// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes/status,verbs=patch
// +kubebuilder:rbac:groups=agents.x-k8s.io,resources=sandboxes/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;persistentvolumeclaims;services,verbs=get;list;watch;create;patch;delete

// Reconcile works on one Sandbox. When the process stops in the middle, that is no error: the next leader sees what is done
// and does the rest.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	outcome := r.reconcile(ctx, request.NamespacedName)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	if err := outcome.Unreported(); err != nil {
		log.FromContext(ctx).Error(err, "Reconciler error, to be tried again before the Sandbox expires")
	}
	return outcome.Result()
}

func (r *Reconciler) reconcile(ctx context.Context, key types.NamespacedName) outcomes.Outcome {
	sandbox := &sandboxv1beta1.Sandbox{}
	err := r.client.Get(ctx, key, sandbox)
	switch {
	case apierrors.IsNotFound(err):
		r.forget(key)
		return outcomes.Done()
	case err != nil:
		return outcomes.Failed(fmt.Errorf("reading Sandbox %q: %w", key.Name, err))
	case slices.Contains(sandbox.Finalizers, metav1.FinalizerOrphanDependents) && sandbox.DeletionTimestamp != nil:
		// Its children are to be left as they are.
		return outcomes.Done()
	}
	ctx, span := telemetry.Reconcile(ctx, r.tracer, sandboxv1beta1.SandboxKind, sandbox, sandboxv1beta1.AnnotationTraceContext)
	defer span.End()
	var p plan
	var d done
	s, err := r.observe(ctx, sandbox)
	if err == nil {
		p = decide(s)
		d = r.act(ctx, sandbox, p)
	}
	d.fail(err)
	telemetry.Failed(span, "children are not as the spec says", d.errors)
	return r.report(ctx, s, p, d)
}

// forget drops what is known of a Sandbox that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	for _, paced := range []*pacer.Pacer[types.NamespacedName]{r.pacer, r.tries, r.writeBehind} {
		paced.Forget(key)
	}
	r.echoes.Forget(key)
	r.metrics.forget(key)
}

// SetupWithManager registers the controller with as many workers.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr manager.Manager, workers int) error {
	for _, index := range Indexes() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.Of, index.Name, index.By); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Of, index.Name, err)
		}
	}
	byOwner := handler.EnqueueRequestsFromMapFunc(ByOwnerName)
	byOwnerOrOwnName := handler.EnqueueRequestsFromMapFunc(r.ByOwnerOrOwnName)
	err := ctrl.NewControllerManagedBy(mgr).
		For(&sandboxv1beta1.Sandbox{}, builder.WithPredicates(r.Wakes())).
		Watches(&corev1.Pod{}, byOwnerOrOwnName).
		Watches(&corev1.Service{}, byOwnerOrOwnName).
		Watches(&corev1.PersistentVolumeClaim{}, byOwner).
		Watches(&corev1.ResourceQuota{}, handler.EnqueueRequestsFromMapFunc(r.thoseLimited), builder.WithPredicates(makesRoom())).
		Watches(&corev1.LimitRange{}, handler.EnqueueRequestsFromMapFunc(r.thoseLimited)).
		Watches(&nodev1.RuntimeClass{}, handler.EnqueueRequestsFromMapFunc(r.thoseOfRuntimeClass), builder.WithPredicates(appears())).
		WithOptions(outcomes.Options(workers, retryFirst, retryLongest)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("registering the Sandbox controller: %w", err)
	}
	return nil
}
