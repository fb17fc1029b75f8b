package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/extensions/cmd/controller/controllers"
)

// verdict is what came of a schedule.
type verdict struct {
	seed   int64
	breach string
	trace  []string
	tally  tally
}

// beginning is what a schedule begins with.
type beginning struct {
	replicas int
	recreate bool
	children bool
	// claims have been served already.
	claims int
}

// beginnings are stores in which a pool has its members, which are Ready, and claims have theirs.
type beginnings struct {
	mu     sync.Mutex
	stores map[beginning]*store
}

var filled = beginnings{stores: map[beginning]*store{}}

func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// bare returns a store with a template and a pool that has no members.
func (b beginning) bare() *store {
	s := newStore(epoch())
	template := &extensionsv1beta1.SandboxTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "template"}}
	template.Spec.PodTemplate.Spec.Containers = []corev1.Container{{Name: "main", Image: "image:0"}}
	if b.children {
		template.Spec.Service = ptr.To(true)
		template.Spec.VolumeClaimTemplates = []sandboxv1beta1.PersistentVolumeClaimTemplate{{Metadata: sandboxv1beta1.EmbeddedObjectMetadata{Name: "data"}}}
	}
	pool := &extensionsv1beta1.SandboxWarmPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: poolName}}
	pool.Spec.Replicas = ptr.To(int32(b.replicas)) //nolint:gosec // Few.
	pool.Spec.SandboxTemplateRef.Name = template.Name
	pool.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyOnReplenish
	if b.recreate {
		pool.Spec.UpdateStrategy.Type = extensionsv1beta1.UpdateStrategyRecreate
	}
	other := pool.DeepCopy()
	other.Name, other.Spec.Replicas = otherPool, ptr.To[int32](0)
	_, _ = s.create(nil, template) // the store is empty
	_, _ = s.create(nil, pool)     // likewise
	_, _ = s.create(nil, other)    // likewise
	return s
}

// store returns one in which the pool is full and the claims are served. The caller is in a bubble.
func (b *beginnings) store(at beginning) *store {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stores[at] == nil {
		w := newWorld(0, at.bare())
		for range at.claims {
			w.createClaim()
		}
		w.rest()
		w.close()
		w.store.check = nil
		b.stores[at] = w.store
	}
	return b.stores[at].branch()
}

func newWorld(seed int64, s *store) *world {
	w := &world{
		seed: seed, store: s, rng: rand.New(rand.NewPCG(uint64(seed), 1)),
		settings: controllers.Settings{Observability: true, Batch: 2, Grace: 5 * time.Minute, Recheck: time.Minute, Evictable: true},
		ledger:   ledger{published: map[types.UID]types.UID{}, astray: map[*process]bool{}},
	}
	s.check = w.check
	return w
}

// play runs the schedule of a seed. The caller is in a bubble.
func play(seed int64, wrong mutant, traced bool) verdict {
	rng := rand.New(rand.NewPCG(uint64(seed), 2))
	at := beginning{
		replicas: anyOf(rng, []int{0, 1, 2, 3, 4, 4}), recreate: rng.IntN(4) == 0, children: rng.IntN(8) == 0,
		claims: anyOf(rng, []int{0, 0, 0, 1, 2}),
	}
	s := at.bare()
	if rng.IntN(8) > 0 {
		s = filled.store(at)
	}
	w := newWorld(seed, s)
	defer w.close()
	w.mutant, w.traced = wrong, traced
	w.faults = anyOf(rng, []int{0, 5, 15, 30})
	w.slowReads = rng.IntN(4) == 0
	w.settings.Observability = rng.IntN(3) > 0
	w.note("%+v, faults %d%%", at, w.faults)
	if rng.IntN(2) == 0 {
		w.giveAnother()
	}
	w.settings.ReplenishDelay = anyOf(rng, []time.Duration{0, 0, 0, 3 * time.Second})
	for r := range roles {
		w.launch(r, 0)
	}
	for range steps {
		if w.broken() {
			break
		}
		w.step()
	}
	if !w.broken() {
		w.rest()
	}
	w.tally.Schedules = 1
	return verdict{seed: seed, breach: w.breach, trace: w.trace, tally: w.tally}
}

// run plays the schedule of a seed in a bubble of its own.
func (s schedule) run(t *testing.T) verdict {
	var v verdict
	synctest.Test(t, func(*testing.T) { v = play(s.seed, s.mutant, s.traced) })
	return v
}

// schedule is what there is to play.
type schedule struct {
	seed   int64
	mutant mutant
	traced bool
}

func (v verdict) String() string {
	return fmt.Sprintf("seed %d: %s", v.seed, v.breach)
}

func (p *progress) text() string {
	elapsed := time.Since(p.began).Seconds()
	return fmt.Sprintf("%.0f s, %.0f schedules/s: %+v", elapsed, float64(p.sum.Schedules)/elapsed, p.sum)
}
