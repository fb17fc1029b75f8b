package sandbox

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
)

// scrapeTimeout bounds the wait for the cache at a scrape.
const scrapeTimeout = 5 * time.Second

// inventory counts the Sandboxes that there are at each scrape, without copying them.
type inventory struct {
	sandboxes client.Reader
	count     *prometheus.Desc
}

// NewInventory returns the collector of agent_sandboxes; it lists from reader, a cache.
func NewInventory(reader client.Reader) prometheus.Collector {
	return inventory{sandboxes: reader, count: prometheus.NewDesc("agent_sandboxes", "Sandboxes that there are.", []string{
		labelNamespace, "ready_condition", "expired", labelLaunchType, labelTemplate, labelOwner, "created_by", "operating_mode",
	}, nil)}
}

// Describe sends the one description.
func (i inventory) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- i.count }

// population is what Sandboxes of one gauge have in common.
type population struct {
	namespace, ready, expired, launchType, template, owner, creator, mode string
}

// Collect sends a gauge for each population.
func (i inventory) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var all sandboxv1beta1.SandboxList
	if err := i.sandboxes.List(ctx, &all, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		metrics <- prometheus.NewInvalidMetric(i.count, err)
		return
	}
	counts := map[population]int{}
	for n := range all.Items {
		counts[populationOf(&all.Items[n])]++
	}
	for p, n := range counts {
		metrics <- prometheus.MustNewConstMetric(i.count, prometheus.GaugeValue, float64(n),
			p.namespace, p.ready, p.expired, p.launchType, p.template, p.owner, p.creator, p.mode)
	}
}

func populationOf(sandbox *sandboxv1beta1.Sandbox) population {
	ready := metav1.ConditionUnknown
	if condition := meta.FindStatusCondition(sandbox.Status.Conditions, sandboxv1beta1.ConditionReady); condition != nil {
		ready = condition.Status
	}
	return population{
		namespace:  sandbox.Namespace,
		ready:      string(ready),
		expired:    strconv.FormatBool(tellsExpiry(sandbox.Status)),
		launchType: launchType(sandbox),
		template:   templateName(sandbox),
		owner:      cmp.Or(extensionOwner(sandbox), "None"),
		creator:    createdBy(sandbox),
		mode:       string(cmp.Or(sandbox.Spec.OperatingMode, sandboxv1beta1.OperatingModeRunning)),
	}
}
