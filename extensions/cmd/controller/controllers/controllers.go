// Package controllers puts the controllers of the extensions together: for their binary, and for tests that run them against
// an API server of their own.
package controllers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/extensions/internal/blueprint"
	"sigs.k8s.io/agent-sandbox/extensions/internal/candidates"
	"sigs.k8s.io/agent-sandbox/extensions/internal/claim"
	"sigs.k8s.io/agent-sandbox/extensions/internal/template"
	"sigs.k8s.io/agent-sandbox/extensions/internal/warmpool"
	"sigs.k8s.io/agent-sandbox/shared/consistency"
	"sigs.k8s.io/agent-sandbox/shared/events"
	"sigs.k8s.io/agent-sandbox/shared/pacer"
)

// Settings are what users set.
type Settings struct {
	// Namespace is the one that the caches are of; empty: all.
	Namespace string
	// ClaimWorkers, PoolWorkers and TemplateWorkers are how many claims, pools and templates are reconciled at the same time; above 0.
	ClaimWorkers, PoolWorkers, TemplateWorkers int
	// RouterNamespace is where the router stands, which the NetworkPolicies of templates admit unless they say otherwise.
	RouterNamespace string
	// Events takes the Events; nil: the manager sends them.
	Events events.Recorder
	// ClaimEvents emits Events about claims.
	ClaimEvents bool
	// Observability writes annotations on claims for people to look at.
	Observability bool
	// Tracer follows what is done for claims; nil: nobody does.
	Tracer trace.Tracer
	// Metrics is where the controllers register theirs; nil: nowhere.
	Metrics prometheus.Registerer
	// LabelDomains are those under which claims may label their Pods.
	LabelDomains blueprint.LabelDomains
	// Batch is how many members of a pool are made, and how many are deleted, in one pass; above 0.
	Batch int
	// RefillRate is how many members of a pool are made in a second; 0 is no limit.
	RefillRate float64
	// ReplenishDelay is how long what makes up for lost members is held back; 0 is not at all.
	ReplenishDelay time.Duration
	// Grace is how long a member may take to become Ready, unless its pool says otherwise.
	Grace time.Duration
	// Recheck is how soon a pool is looked at again whose members find no node.
	Recheck time.Duration
	// Evictable lets the cluster autoscaler remove the nodes of members that are idle.
	Evictable bool
}

// Surroundings are what controllers stand on; every field is required.
type Surroundings struct {
	// Client reads from the caches, with read-your-own-writes consistency, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// ClaimEvents, PoolEvents and TemplateEvents take the Events.
	ClaimEvents, PoolEvents, TemplateEvents events.Recorder
	// ClaimMetrics count claims; nil: nobody does.
	ClaimMetrics *claim.Metrics
	// Tracer follows what is done for claims.
	Tracer trace.Tracer
	// Clock tells the time.
	Clock clock.PassiveClock
	// Barrier is passed once the caches show everything that was written before this process became the leader.
	Barrier claim.Barrier
	// Members decorates the members that can be taken; a test may put itself in between.
	Members func(*candidates.Candidates) claim.Members
	// Suffix returns that many random characters for the end of a member's name.
	Suffix func(length int) string
}

// Controllers are those of one process.
type Controllers struct {
	Claims    *claim.Reconciler
	Pools     *warmpool.Reconciler
	Templates *template.Reconciler
}

// NewCandidates returns the members that claims take, none as yet. Informers feed them.
func NewCandidates() *candidates.Candidates { return candidates.New() }

// Undecorated hands the members on as they are.
func Undecorated(members *candidates.Candidates) claim.Members { return members }

// New returns controllers that share the members that can be taken.
func New(members *candidates.Candidates, around Surroundings, settings Settings) Controllers {
	return Controllers{
		Claims: claim.New(claim.Config{
			Client:        around.Client,
			Live:          around.Live,
			Recorder:      around.ClaimEvents,
			Clock:         around.Clock,
			Members:       around.Members(members),
			LastWrites:    consistency.NewLastWrites[types.NamespacedName, types.NamespacedName](),
			Echoes:        consistency.NewEchoes[types.NamespacedName](),
			Barrier:       around.Barrier,
			Observability: settings.Observability,
			LabelDomains:  settings.LabelDomains,
			Metrics:       around.ClaimMetrics,
			Tracer:        around.Tracer,
		}),
		Pools: warmpool.New(warmpool.Config{
			Client:     around.Client,
			Live:       around.Live,
			Recorder:   around.PoolEvents,
			Clock:      around.Clock,
			Members:    members,
			Barrier:    around.Barrier,
			Unanswered: warmpool.NewUnanswered(),
			Echoes:     consistency.NewEchoes[types.UID](),
			Buckets:    warmpool.NewBuckets(settings.RefillRate, settings.Batch),
			Yields:     pacer.New[types.UID](),
			Statuses:   pacer.New[types.UID](),
			Losses:     warmpool.NewLosses(settings.ReplenishDelay),
			Arrivals:   warmpool.NewArrivals(),
			Closures:   warmpool.NewClosures(),
			Limits:     warmpool.Limits{Batch: settings.Batch, Grace: settings.Grace, Recheck: settings.Recheck},
			Evictable:  settings.Evictable,
			Suffix:     around.Suffix,
		}),
		Templates: template.New(template.Config{
			Client: around.Client, Live: around.Live, Recorder: around.TemplateEvents, Clock: around.Clock,
			RouterNamespace: settings.RouterNamespace,
		}),
	}
}
