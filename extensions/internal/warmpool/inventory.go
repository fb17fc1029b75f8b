package warmpool

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/internal/index"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

// scrapeTimeout bounds the wait for the caches at a scrape.
const scrapeTimeout = 5 * time.Second

// standing is how far a member is, as a metric tells it.
type standing string

// Values of standing.
const (
	standingReady     standing = "ready"
	standingPending   standing = "pending"
	standingSucceeded standing = "succeeded"
	standingFailed    standing = "failed"
)

func standings() []standing {
	return []standing{standingReady, standingPending, standingSucceeded, standingFailed}
}

// inventory counts the members of each pool at each scrape, without copying them.
type inventory struct {
	cached  client.Reader
	members Members
	size    *prometheus.Desc
}

// NewInventory returns the collector of agent_sandbox_warmpool_size; it lists from reader, a cache, and asks which of
// the members that are Ready can be taken.
func NewInventory(reader client.Reader, members Members) prometheus.Collector {
	return inventory{cached: reader, members: members, size: prometheus.NewDesc("agent_sandbox_warmpool_size",
		"Members of a pool that nobody has deleted, by status: ready, pending, succeeded, failed.",
		[]string{"namespace", "warmpool_name", "sandbox_template", "sandbox_status"}, nil)}
}

// Describe sends the one description.
func (i inventory) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- i.size }

// Collect sends a gauge for each pool and status, zeros too: whoever scales by them needs those of a pool that is empty.
func (i inventory) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var pools extensionsv1beta1.SandboxWarmPoolList
	var sandboxes sandboxv1beta1.SandboxList
	for _, list := range []client.ObjectList{&pools, &sandboxes} {
		if err := i.cached.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			metrics <- prometheus.NewInvalidMetric(i.size, err)
			return
		}
	}
	counts := i.countMembers(sandboxes.Items)
	for n := range pools.Items {
		pool := &pools.Items[n]
		for _, status := range standings() {
			metrics <- prometheus.MustNewConstMetric(i.size, prometheus.GaugeValue, float64(counts[pool.UID][status]),
				pool.Namespace, pool.Name, pool.Spec.SandboxTemplateRef.Name, string(status))
		}
	}
}

// countMembers counts by the UID of the pool: what else a Sandbox says of itself makes no time series.
func (i inventory) countMembers(sandboxes []sandboxv1beta1.Sandbox) map[types.UID]map[standing]int {
	counts := map[types.UID]map[standing]int{}
	for n := range sandboxes {
		sandbox := &sandboxes[n]
		pool, pooled := ownership.ControllerOf(sandbox, index.PoolKind())
		if !pooled || sandbox.DeletionTimestamp != nil {
			continue
		}
		if counts[pool.UID] == nil {
			counts[pool.UID] = map[standing]int{}
		}
		counts[pool.UID][i.standingOf(sandbox)]++
	}
	return counts
}

func (i inventory) standingOf(member *sandboxv1beta1.Sandbox) standing {
	finished := meta.FindStatusCondition(member.Status.Conditions, sandboxv1beta1.ConditionFinished)
	switch {
	case isStarted(member) && isAdmitted(member, i.members):
		return standingReady
	case finished == nil:
		return standingPending
	case finished.Reason == sandboxv1beta1.ReasonPodSucceeded:
		return standingSucceeded
	default:
		return standingFailed
	}
}
