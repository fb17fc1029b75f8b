package program

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"sigs.k8s.io/agent-sandbox/core/internal/router/proxy"
	"sigs.k8s.io/agent-sandbox/core/internal/router/serve"
	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
	"sigs.k8s.io/agent-sandbox/shared/app"
	"sigs.k8s.io/agent-sandbox/shared/telemetry"
	"sigs.k8s.io/agent-sandbox/shared/version"
)

// route makes the router and has it serve until ctx ends.
func route(ctx context.Context, f *flags) error {
	log := zap.New(zap.UseFlagOptions(&f.logging))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics, err := newMetrics(registry)
	if err != nil {
		return err
	}
	cluster, err := f.connect(ctx)
	if err != nil {
		return err
	}
	authenticator, err := f.authenticator(cluster)
	if err != nil {
		return err
	}
	certificates, err := f.certificates(registry, log)
	if err != nil {
		return err
	}
	if f.allowLoopback {
		f.proxy.Rules.Loopback = target.AllowLoopback
	}
	handler := proxy.New(f.proxy, cluster.resolver(f.cache.clusterDomain), authenticator, metrics, clock.RealClock{}, log)
	defer handler.Close()
	traced, end, err := f.traced(ctx, handler, log)
	if err != nil {
		return err
	}
	defer end()
	listened, err := f.listen(registry, certificates)
	if err != nil {
		return err
	}
	listened.Log = log
	f.warn(log)
	log.Info("Starting", "version", version.Get().GitVersion, "authz", f.authz.mode, "cache", f.cache.enabled)
	return run(ctx, cluster, certificates, func(ctx context.Context) error {
		return serve.Run(ctx, listened, traced, serve.NewProbes(f.proxy.Rules, cluster.isSynced))
	})
}

// run has what stands behind the serving outlast it, and the serving end with what fails.
func run(ctx context.Context, cluster *cluster, certificates *serve.Certificates, serving func(context.Context) error) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return cluster.watch(behind) })
	if certificates != nil {
		group.Go(func() error {
			certificates.Watch(behind, clock.RealClock{})
			return nil
		})
	}
	group.Go(func() error {
		defer stop()
		return serving(ctx)
	})
	return group.Wait()
}

// warn tells of what is right in few places only.
func (f *flags) warn(log logr.Logger) {
	if !f.cache.enabled {
		log.Info("Warning: with --" + cacheFlag + "=false whoever reaches the router reaches every address that a Pod can have")
	}
	if f.allowLoopback {
		log.Info("Warning: --allow-loopback-pod-ip lets requests reach what listens on this machine")
	}
}

// tracedProxy is a proxy whose requests are spans.
type tracedProxy struct {
	serve.Proxy
	spans http.Handler
}

// ServeHTTP carries a request within its span.
func (t tracedProxy) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	t.spans.ServeHTTP(writer, request)
}

// traced follows requests where that is wanted. The second result sends the spans that are left.
func (f *flags) traced(ctx context.Context, handler *proxy.Handler, log logr.Logger) (serve.Proxy, func(), error) {
	if !f.tracing {
		return handler, func() {}, nil
	}
	provider, err := telemetry.NewTracerProvider(ctx, Name, version.Get().GitVersion)
	if err != nil {
		return nil, nil, fmt.Errorf("--enable-tracing: %w", err)
	}
	spans := otelhttp.NewHandler(handler, "route", otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(propagation.TraceContext{}))
	return tracedProxy{handler, spans}, func() { app.EndTracing(ctx, provider, log) }, nil
}

func (f *flags) certificates(registry prometheus.Registerer, log logr.Logger) (*serve.Certificates, error) {
	if !f.serving.isSecure() {
		return nil, serve.RegisterReloads(registry)
	}
	files := serve.CertificateFiles{Certificate: f.serving.cert, Key: f.serving.key, ClientAuth: clientAuths()[f.serving.mtls]}
	if f.serving.mtls != mtlsOff {
		files.ClientCA = f.serving.clientCA
	}
	certificates, err := serve.NewCertificates(files, registry, log)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", httpsFlag, err)
	}
	return certificates, nil
}

// listen opens every address, so that what is taken already is told before anything is served.
func (f *flags) listen(registry *prometheus.Registry, certificates *serve.Certificates) (serve.Options, error) {
	options := serve.Options{MaxConnections: f.serving.connections, ShutdownTimeout: f.serving.shutdown, Watch: f.watch(registry)}
	if certificates != nil {
		options.TLS = certificates.Config()
	}
	for _, each := range []struct {
		flag, address string
		into          *net.Listener
	}{
		{httpFlag, f.serving.http, &options.Plain}, {httpsFlag, f.serving.https, &options.Secure},
		{metricsFlag, f.metrics, &options.Metrics}, {healthFlag, f.health, &options.Health},
	} {
		if each.address == "" || each.address == "0" {
			continue
		}
		listener, err := net.Listen("tcp", each.address)
		if err != nil {
			return options, fmt.Errorf("--%s=%s: %w", each.flag, each.address, err)
		}
		*each.into = listener
	}
	return options, nil
}

func (f *flags) watch(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	for path, handler := range f.profiling.Handlers() {
		mux.Handle(path, handler)
	}
	return mux
}
