package reference

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/app"
)

// metric is a family of time series.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricTable has a row for each metric of either controller.
func metricTable(ctx context.Context, both programs) (string, error) {
	core, err := metricsOf(ctx, both.core)
	if err != nil {
		return "", err
	}
	extensions, err := metricsOf(ctx, both.extensions)
	if err != nil {
		return "", err
	}
	all := slices.Concat(core, extensions)
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	all = slices.CompactFunc(all, func(a, b metric) bool { return a.name == b.name })
	var text strings.Builder
	text.WriteString("\n| metric | type | of | labels | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range all {
		of := "both"
		switch {
		case !has(extensions, m.name):
			of = "core"
		case !has(core, m.name):
			of = "extensions"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", m.name, m.kind, of, strings.Join(m.labels, ", "), cell(m.help))
	}
	return text.String() + "\n", nil
}

func has(metrics []metric, name string) bool {
	return slices.ContainsFunc(metrics, func(m metric) bool { return m.name == name })
}

// metricsOf are the metrics that a program registers at its start.
func metricsOf(ctx context.Context, program app.Program) ([]metric, error) {
	mgr, err := unstarted(program.Scheme)
	if err != nil {
		return nil, err
	}
	var found registry
	if err := app.RegisterMetrics(ctx, program, mgr, &found); err != nil {
		return nil, fmt.Errorf("registering the metrics of %s: %w", program.Name, err)
	}
	return found.metrics, nil
}

// unstarted returns a manager that reaches no API server: whatever the scheme knows exists for it.
func unstarted(scheme *runtime.Scheme) (manager.Manager, error) {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mgr, err := manager.New(&rest.Config{Host: "http://localhost:0"}, manager.Options{
		Scheme:                 scheme,
		Logger:                 logr.Discard(),
		MapperProvider:         func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// Names are unique in a process, but more than one manager is made here.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("creating a manager: %w", err)
	}
	return stockedManager{mgr}, nil
}

// stockedManager is a manager whose client lists one object of each kind that is counted, so that a count shows what it is.
type stockedManager struct {
	manager.Manager
}

// GetClient returns the client that lists.
func (m stockedManager) GetClient() client.Client { return stockedClient{m.Manager.GetClient()} }

type stockedClient struct {
	client.Client
}

// List fills the list with one object.
func (stockedClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch typed := list.(type) {
	case *sandboxv1beta1.SandboxList:
		typed.Items = []sandboxv1beta1.Sandbox{{}}
	case *extensionsv1beta1.SandboxWarmPoolList:
		typed.Items = []extensionsv1beta1.SandboxWarmPool{{}}
	default:
		return fmt.Errorf("nothing is known of a %T", list)
	}
	return nil
}

// registry notes what is registered.
type registry struct {
	metrics []metric
}

// Register implements prometheus.Registerer.
func (r *registry) Register(collector prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(descriptions)
		close(descriptions)
	}()
	var problems []error
	for description := range descriptions {
		m, err := parse(description.String())
		if err == nil {
			m.kind, err = kindOf(collector)
		}
		problems = append(problems, err)
		r.metrics = append(r.metrics, m)
	}
	return errors.Join(problems...)
}

// MustRegister implements prometheus.Registerer; what cannot be registered is missing.
func (r *registry) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		_ = r.Register(collector)
	}
}

// Unregister implements prometheus.Registerer; nothing is taken back.
func (*registry) Unregister(prometheus.Collector) bool { return false }

var (
	// described is the form in which the library tells a description; it has no other way to ask.
	described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	constant  = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

// parse reads a description.
func parse(description string) (metric, error) {
	parts := described.FindStringSubmatch(description)
	if parts == nil {
		return metric{}, fmt.Errorf("a description of an unknown form: %s", description)
	}
	name, nameErr := strconv.Unquote(parts[1])
	help, helpErr := strconv.Unquote(parts[2])
	m := metric{name: name, help: help}
	for _, label := range constant.FindAllStringSubmatch(parts[3], -1) {
		m.labels = append(m.labels, label[1])
	}
	if parts[4] != "" {
		m.labels = append(m.labels, strings.Split(parts[4], ",")...)
	}
	return m, errors.Join(nameErr, helpErr)
}

// kindOf is the type of a collector's metrics. Where the collector does not tell, a metric of it does.
func kindOf(collector prometheus.Collector) (string, error) {
	switch collector.(type) {
	case *prometheus.CounterVec:
		return "counter", nil
	case *prometheus.GaugeVec:
		return "gauge", nil
	case *prometheus.HistogramVec:
		return "histogram", nil
	}
	metrics := make(chan prometheus.Metric)
	go func() {
		collector.Collect(metrics)
		close(metrics)
	}()
	kind, err := "", errors.New("a collector without metrics does not show their type")
	for one := range metrics {
		kind, err = kindOfOne(one)
	}
	return kind, err
}

func kindOfOne(one prometheus.Metric) (string, error) {
	var written dto.Metric
	if err := one.Write(&written); err != nil {
		return "", fmt.Errorf("reading a metric: %w", err)
	}
	switch {
	case written.Counter != nil:
		return "counter", nil
	case written.Gauge != nil:
		return "gauge", nil
	case written.Histogram != nil:
		return "histogram", nil
	}
	return "", fmt.Errorf("a metric of an unknown type: %s", one.Desc())
}
