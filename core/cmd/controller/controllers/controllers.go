// Package controllers puts the controller of Sandboxes together: for its binary, and for tests that run it against an API server
// of their own.
package controllers

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"sigs.k8s.io/agent-sandbox/core/internal/sandbox"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
)

// Settings are what users set.
type Settings struct {
	// WriteBehind is how long patches of Pod metadata wait for further ones; zero: not at all.
	WriteBehind time.Duration
	// ClusterDomain ends every DNS name, "cluster.local" on most clusters.
	ClusterDomain string
}

// Surroundings are what the controller stands on; every field is required.
type Surroundings struct {
	// Client reads from the caches, with read-your-own-writes consistency, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Events takes the Events.
	Events events.Recorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Metrics takes the metrics.
	Metrics prometheus.Registerer
	// Tracer follows each reconcile.
	Tracer trace.Tracer
}

// New returns the controller of Sandboxes. It fails when its metrics cannot be registered.
func New(around Surroundings, settings Settings) (*sandbox.Reconciler, error) {
	metrics, err := sandbox.NewMetrics(around.Metrics)
	if err != nil {
		return nil, err
	}
	return sandbox.New(sandbox.Config{
		Client:            around.Client,
		Live:              around.Live,
		Recorder:          around.Events,
		Clock:             around.Clock,
		Pacer:             pacer.New[types.NamespacedName](),
		Tries:             pacer.New[types.NamespacedName](),
		WriteBehind:       pacer.New[types.NamespacedName](),
		WriteBehindWindow: settings.WriteBehind,
		Echoes:            consistency.NewEchoes[types.NamespacedName](),
		ClusterDomain:     settings.ClusterDomain,
		Metrics:           metrics,
		Tracer:            around.Tracer,
	}), nil
}

// Indexes returns every index of the caches that the controller reads.
func Indexes() []sandbox.Index { return sandbox.Indexes() }

// ByOwnerName are the Sandboxes that a change of one of their objects wakes.
func ByOwnerName(ctx context.Context, obj client.Object) []reconcile.Request {
	return sandbox.ByOwnerName(ctx, obj)
}
