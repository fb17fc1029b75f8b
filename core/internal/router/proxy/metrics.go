package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/agent-sandbox/core/internal/router/auth"
)

const (
	labelMethod    = "method"
	labelCode      = "code"
	labelNamespace = "sandbox_namespace"
	labelReason    = "reason"
	labelDecision  = "decision"
)

// Values of labelDecision.
const (
	decisionAllowed         = "allowed"
	decisionUnauthenticated = "unauthenticated"
	decisionForbidden       = "forbidden"
	decisionError           = "error"
)

const (
	// elsewhere is the namespace of a request that led to no sandbox: clients could make up any number of them.
	elsewhere = "unknown"
	// mostNamespaces is how many are told apart; those beyond are elsewhere.
	mostNamespaces = 1000
)

// Metrics count what is proxied. Their names and labels are a contract; none is for a single sandbox.
type Metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inflight  prometheus.Gauge
	failures  *prometheus.CounterVec
	retries   *prometheus.CounterVec
	evictions *prometheus.CounterVec
	decisions *prometheus.CounterVec

	mu         sync.RWMutex
	namespaces map[string]struct{}
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: counter("requests_total", "Requests that were answered; code 499: the client had gone.", labelMethod, labelCode, labelNamespace),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "request_duration_seconds", Help: "Seconds from the beginning of a request to the end of its answer.", Buckets: durationBuckets(),
		}, []string{labelMethod, labelNamespace}),
		inflight:   prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "inflight_requests", Help: "Requests under way, upgraded connections included."}),
		failures:   counter("upstream_errors_total", "Requests that a sandbox did not answer, by reason.", labelNamespace, labelReason),
		retries:    counter("upstream_retries_total", "Connections that were tried again.", labelNamespace),
		evictions:  counter("cache_invalidations_total", "Pods that are passed over for a moment, since their host was unreachable.", labelNamespace),
		decisions:  counter("authz_decisions_total", "Decisions about callers: allowed, unauthenticated, forbidden, error.", labelNamespace, labelDecision),
		namespaces: map[string]struct{}{},
	}
	var failures []error
	for _, collector := range []prometheus.Collector{m.requests, m.durations, m.inflight, m.failures, m.retries, m.evictions, m.decisions} {
		failures = append(failures, registry.Register(collector))
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fmt.Errorf("registering the metrics of the router: %w", err)
	}
	return m, nil
}

const prefix = "sandbox_router_"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

// durationBuckets reach from a fast answer to a long call, in seconds.
func durationBuckets() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600}
}

// namespaceOf is the label of an exchange.
func (m *Metrics) namespaceOf(x *exchange) string {
	namespace := x.endpoint.Sandbox.Namespace
	if namespace == "" {
		return elsewhere
	}
	m.mu.RLock()
	_, known := m.namespaces[namespace]
	m.mu.RUnlock()
	if known {
		return namespace
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.namespaces) >= mostNamespaces {
		return elsewhere
	}
	m.namespaces[namespace] = struct{}{}
	return namespace
}

func (m *Metrics) ended(method string, code int, x *exchange, took time.Duration) {
	method, namespace := methodLabel(method), m.namespaceOf(x)
	m.requests.WithLabelValues(method, strconv.Itoa(code), namespace).Inc()
	m.durations.WithLabelValues(method, namespace).Observe(took.Seconds())
}

func (m *Metrics) failed(x *exchange, reason string) {
	m.failures.WithLabelValues(m.namespaceOf(x), reason).Inc()
}

func (m *Metrics) retried(x *exchange) { m.retries.WithLabelValues(m.namespaceOf(x)).Inc() }

func (m *Metrics) evicted(x *exchange) { m.evictions.WithLabelValues(m.namespaceOf(x)).Inc() }

func (m *Metrics) decided(x *exchange, err error) {
	decision := decisionAllowed
	if denied, ok := errors.AsType[*auth.Denied](err); ok {
		decision = decisionForbidden
		if denied.Status == http.StatusUnauthorized {
			decision = decisionUnauthenticated
		}
	} else if err != nil {
		decision = decisionError
	}
	m.decisions.WithLabelValues(m.namespaceOf(x), decision).Inc()
}

// methodLabel is one of few values, whatever a client calls its method.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
