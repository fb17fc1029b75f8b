package claims

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// recently is how long a process may work on what it knew of a pool, and how long it takes the next one to put right what was made
// meanwhile: the Lease, the start, and the end of Pods.
const recently = 20 * time.Second

// population is what is known of a pool.
type population struct {
	members map[types.UID]bool
	sizes   []size
}

// size is what a pool asked for from a time on.
type size struct {
	since    time.Time
	replicas int
}

func (j *Judge) population(pool types.UID) *population {
	if j.pools[pool] == nil {
		j.pools[pool] = &population{members: map[types.UID]bool{}}
	}
	return j.pools[pool]
}

func (p *population) resize(at time.Time, pool *extensionsv1beta1.SandboxWarmPool) {
	replicas := int(ptr.Deref(pool.Spec.Replicas, 1))
	if n := len(p.sizes); n == 0 || p.sizes[n-1].replicas != replicas {
		p.sizes = append(p.sizes, size{at, replicas})
	}
}

// most is the largest size that the pool asked for from a time on.
func (p *population) most(from time.Time) int {
	most := 0
	for i, s := range p.sizes {
		isOver := i+1 < len(p.sizes) && p.sizes[i+1].since.Before(from)
		if !isOver {
			most = max(most, s.replicas)
		}
	}
	return most
}
