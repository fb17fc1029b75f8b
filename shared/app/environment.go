package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// probeTimeout is how long the readiness probe waits for the informers before it says no.
const probeTimeout = time.Second

// Environment is what controllers are set up in.
type Environment struct {
	Manager manager.Manager
	// Events takes those of the controllers. It drops some where too many wait to be sent.
	Events events.Recorder
	// Tracer follows what they do; it does nothing unless tracing is enabled.
	Tracer trace.Tracer
	// Metrics is where they register theirs.
	Metrics prometheus.Registerer
}

// newEnvironment makes the manager and what stands beside it. The second result ends tracing.
func newEnvironment(ctx context.Context, program Program, config *rest.Config, log logr.Logger) (Environment, func(), error) {
	config = rest.CopyConfig(config)
	tracing, err := newTracing(ctx, program, log)
	if err != nil {
		return Environment{}, nil, err
	}
	config.Wrap(tracing.requests)
	backstage := newBackstage()
	config.Wrap(backstage.wrap)
	options, err := managerOptions(program, config, log)
	if err != nil {
		return Environment{}, nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return Environment{}, nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := makeInformers(ctx, mgr.GetCache(), options.Cache.ByObject); err != nil {
		return Environment{}, nil, err
	}
	if err := addProbes(mgr); err != nil {
		return Environment{}, nil, err
	}
	environment, err := equip(program, mgr, backstage, ctrlmetrics.Registry)
	if err != nil {
		return Environment{}, nil, err
	}
	environment.Tracer = tracing.tracer
	return environment, tracing.end, nil
}

// equip registers what every program tells of itself, and returns what its controllers are set up in, but for the tracer.
func equip(program Program, mgr manager.Manager, backstage *backstage, registry prometheus.Registerer) (Environment, error) {
	if err := RegisterBuildInfo(registry, "agent_sandbox_build_info", version.Get()); err != nil {
		return Environment{}, err
	}
	recorder, err := limitedEvents(mgr.GetEventRecorder(program.Name), backstage, registry)
	if err != nil {
		return Environment{}, err
	}
	return Environment{Manager: mgr, Events: recorder, Metrics: registry}, nil
}

func managerOptions(program Program, config *rest.Config, log logr.Logger) (manager.Options, error) {
	options := program.Options
	connections, err := newClients(config, options.Client)
	if err != nil {
		return manager.Options{}, err
	}
	cached, err := program.Cache(options)
	if err != nil {
		return manager.Options{}, err
	}
	tlsOptions, err := options.Metrics.tlsOptions()
	if err != nil {
		return manager.Options{}, err
	}
	metrics := metricsserver.Options{
		BindAddress:   options.Metrics.Address,
		SecureServing: options.Metrics.Secure,
		CertDir:       options.Metrics.CertDir,
		TLSOpts:       tlsOptions,
		ExtraHandlers: options.Profiling.Handlers(),
	}
	if options.Metrics.Authorization {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	live, err := client.New(config, client.Options{Scheme: program.Scheme, HTTPClient: connections.requests})
	if err != nil {
		return manager.Options{}, fmt.Errorf("creating a client: %w", err)
	}
	readYourWrites := true
	return manager.Options{
		Scheme:                        program.Scheme,
		Logger:                        log,
		Metrics:                       metrics,
		HealthProbeBindAddress:        options.HealthAddress,
		LeaderElection:                options.LeaderElection.Enabled,
		LeaderElectionID:              program.Name + ".agents.x-k8s.io",
		LeaderElectionNamespace:       options.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &options.LeaderElection.LeaseDuration,
		RenewDeadline:                 &options.LeaderElection.RenewDeadline,
		RetryPeriod:                   &options.LeaderElection.RetryPeriod,
		Cache: cache.Options{
			HTTPClient: connections.watches, ByObject: cached, DefaultTransform: cache.TransformStripManagedFields(),
			DefaultWatchErrorHandler: unreadable{scheme: program.Scheme, live: live, log: log}.handle,
		},
		Client: client.Options{
			HTTPClient: connections.requests,
			Cache:      &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites},
		},
	}, nil
}

// makeInformers has every kind watched from the start, so that a replica that waits for the Lease can work as soon as it has it,
// and a replica that is ready stays so: controllers make theirs only when they start.
func makeInformers(ctx context.Context, informers cache.Cache, kinds map[client.Object]cache.ByObject) error {
	for obj := range kinds {
		if _, err := informers.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("making an informer of %T: %w", obj, err)
		}
	}
	return nil
}

func addProbes(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness probe: %w", err)
	}
	synced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), probeTimeout)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the informers have not synced yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("informers", synced); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}
