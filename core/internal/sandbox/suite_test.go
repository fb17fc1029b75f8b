package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
	"sigs.k8s.io/agent-sandbox/shared/testkit"
)

var apiServer *testkit.APIServer

func TestMain(m *testing.M) {
	crds := filepath.Join("..", "..", "..", "kustomize", "base", "core", "crd")
	os.Exit(testkit.RunTests(m, func(started *testkit.APIServer) { apiServer = started }, crds))
}

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, sandboxv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// world is a running controller, a kubelet, and a user with a namespace.
type world struct {
	t         testing.TB
	user      client.Client
	namespace string
	writes    *testkit.Writes // by the controller
	metrics   *prometheus.Registry
	spans     *tracetest.InMemoryExporter
}

// settings are what tests set of the controller.
type settings struct {
	writeBehind time.Duration
	cache       map[client.Object]cache.ByObject
}

func newWorld(t testing.TB, change ...func(*settings)) world {
	t.Helper()
	user, err := client.New(apiServer.Config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatalf("creating the user's client: %v", err)
	}
	counted, writes := testkit.CountWrites(apiServer.Config)
	w := world{
		t: t, user: user, namespace: testkit.Namespace(t, user), writes: writes,
		metrics: prometheus.NewRegistry(), spans: tracetest.NewInMemoryExporter(),
	}
	testkit.StartKubelet(t, apiServer.Config)
	set := settings{cache: CacheOptions()}
	for _, apply := range change {
		apply(&set)
	}
	w.startController(counted, set)
	return w
}

// startController runs the controller, for the namespace of this test alone, until the test ends.
func (w world) startController(config *rest.Config, set settings) {
	w.t.Helper()
	readYourWrites := true
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:     testScheme(w.t),
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{ByObject: set.cache, DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &readYourWrites}},
		Controller: controllerOptions(),
	})
	if err != nil {
		w.t.Fatalf("creating the manager: %v", err)
	}
	metrics, err := NewMetrics(w.metrics)
	if err != nil {
		w.t.Fatal(err)
	}
	w.must("registering the count of Sandboxes", w.metrics.Register(NewInventory(mgr.GetClient())))
	reconciler := New(Config{
		Client:            mgr.GetClient(),
		Live:              mgr.GetAPIReader(),
		Recorder:          events.NewRecorder(mgr.GetEventRecorder("agent-sandbox-controller")),
		Clock:             clock.RealClock{},
		Pacer:             pacer.New[types.NamespacedName](),
		Tries:             pacer.New[types.NamespacedName](),
		WriteBehind:       pacer.New[types.NamespacedName](),
		WriteBehindWindow: set.writeBehind,
		Echoes:            consistency.NewEchoes[types.NamespacedName](),
		ClusterDomain:     "cluster.local",
		Metrics:           metrics,
		Tracer:            trace.NewTracerProvider(trace.WithSyncer(w.spans)).Tracer("test"),
	})
	ctx, cancel := context.WithCancel(context.Background())
	if err := reconciler.SetupWithManager(ctx, mgr, 10); err != nil {
		w.t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			w.t.Errorf("the manager ended with %v", err)
		}
	})
}

// testConfig is for a Reconciler that reads from c alone and tells nobody.
func testConfig(t testing.TB, c client.Client) Config {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Client: c, Live: c, Recorder: events.Discard(), Clock: clock.RealClock{}, ClusterDomain: "cluster.local",
		Pacer: pacer.New[types.NamespacedName](), Tries: pacer.New[types.NamespacedName](), WriteBehind: pacer.New[types.NamespacedName](),
		Echoes: consistency.NewEchoes[types.NamespacedName](), Metrics: metrics, Tracer: noop.NewTracerProvider().Tracer("test"),
	}
}

// controllerOptions lets every test register a controller of the same name.
func controllerOptions() config.Controller {
	skip := true
	return config.Controller{SkipNameValidation: &skip}
}
