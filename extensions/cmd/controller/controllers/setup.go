package controllers

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/barrier"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/claim"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/extensions/internal/warmpool"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// CacheOptions say what the informers keep of each kind: no record of who manages which field, and of a node what decides
// whether the Pods on it may be handed out.
func CacheOptions() map[client.Object]cache.ByObject {
	bare := cache.ByObject{Transform: cache.TransformStripManagedFields()}
	return map[client.Object]cache.ByObject{
		&sandboxv1beta1.Sandbox{}:            bare,
		&extensionsv1beta1.SandboxClaim{}:    bare,
		&extensionsv1beta1.SandboxWarmPool{}: bare,
		&extensionsv1beta1.SandboxTemplate{}: bare,
		&corev1.Node{}:                       {Transform: stripNode},
		&networkingv1.NetworkPolicy{}:        {Transform: stripPolicy},
	}
}

// stripPolicy leaves of a policy that is not a template's what shows whose it is.
func stripPolicy(obj any) (any, error) {
	policy, ok := obj.(*networkingv1.NetworkPolicy)
	if !ok {
		return obj, nil
	}
	policy.ManagedFields = nil
	if _, ours := ownership.ControllerOf(policy, index.TemplateKind()); !ours {
		policy.Annotations, policy.Spec = nil, networkingv1.NetworkPolicySpec{}
	}
	return policy, nil
}

func stripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields, node.Annotations = nil, nil
	node.Status = corev1.NodeStatus{Conditions: node.Status.Conditions}
	return node, nil
}

// Setup registers the controllers with a manager.
func Setup(ctx context.Context, mgr manager.Manager, settings Settings) error {
	if err := index.Add(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	members := NewCandidates()
	synced, err := feed(ctx, mgr.GetCache(), members)
	if err != nil {
		return err
	}
	gate := barrier.New(mgr.GetClient(), mgr.GetAPIReader(), settings.Namespace, barrierKinds(), synced...)
	if err := mgr.Add(gate); err != nil {
		return fmt.Errorf("adding the barrier of a new leader: %w", err)
	}
	recorder := settings.Events
	if recorder == nil {
		recorder = events.NewRecorder(mgr.GetEventRecorder("agent-sandbox-extensions-controller"))
	}
	claimEvents := recorder
	if !settings.ClaimEvents {
		claimEvents = events.Discard()
	}
	counted, err := register(settings.Metrics, mgr.GetClient(), members)
	if err != nil {
		return err
	}
	all := New(members, Surroundings{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), ClaimEvents: claimEvents, PoolEvents: recorder, TemplateEvents: recorder,
		ClaimMetrics: counted, Tracer: tracerOr(settings.Tracer), Clock: clock.RealClock{}, Barrier: gate, Members: Undecorated, Suffix: rand.String,
	}, settings)
	if err := all.Claims.SetupWithManager(mgr, settings.ClaimWorkers); err != nil {
		return err
	}
	if err := all.Pools.SetupWithManager(mgr, settings.PoolWorkers); err != nil {
		return err
	}
	return all.Templates.SetupWithManager(mgr, settings.TemplateWorkers)
}

func tracerOr(given trace.Tracer) trace.Tracer {
	if given == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return given
}

// register adds the metrics of pools, which are read from a cache and from the members that can be taken, and those of claims.
func register(registry prometheus.Registerer, cached client.Reader, members *candidates.Candidates) (*claim.Metrics, error) {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	if err := registry.Register(warmpool.NewInventory(cached, members)); err != nil {
		return nil, fmt.Errorf("registering the sizes of pools: %w", err)
	}
	return claim.NewMetrics(registry)
}

// feed lets informers tell the members that can be taken. It returns what says that each has told what it knew at the start.
func feed(ctx context.Context, informers cache.Cache, members *candidates.Candidates) ([]func() bool, error) {
	var synced []func() bool
	for _, feed := range []struct {
		of      client.Object
		handler toolscache.ResourceEventHandler
	}{{&sandboxv1beta1.Sandbox{}, members.SandboxHandler()}, {&corev1.Node{}, members.NodeHandler()}} {
		informer, err := informers.GetInformer(ctx, feed.of, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("making an informer of %T: %w", feed.of, err)
		}
		registration, err := informer.AddEventHandler(feed.handler)
		if err != nil {
			return nil, fmt.Errorf("listening to an informer of %T: %w", feed.of, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	return synced, nil
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
