package bench

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// poolFill is a pool that gets all its members at once.
func poolFill() benchmark {
	return benchmark{
		name:        "pool-fill",
		summary:     "a pool grows from no members to --count",
		floor:       "a client makes pairs of Sandbox and Pod itself, and waits for the Pods; no controller runs",
		ours:        "a client sets the replicas of the pool, and waits for so many Ready members",
		controllers: controllers(),
		load:        whole,
		prepare: func(ctx context.Context, s *scene, _ side) error {
			_, err := s.createPools(ctx, s.load.poolNames(), 0)
			return err
		},
		recover: emptyPool,
		phases: func(s *scene) []phase {
			return []phase{{
				name:    "fill",
				floor:   step{do: s.createPair, reached: hasReadyPod, want: "a ready Pod"},
				ours:    step{do: s.fillPool, reached: s.isFull, want: "so many Ready members", of: poolName},
				judge:   judgeFill,
				figures: noFigures,
			}}
		},
	}
}

// fillPool asks for as many members as the step is about.
func (s *scene) fillPool(ctx context.Context, pool string) error {
	return s.setReplicas(ctx, pool, s.wanted)
}

func (s *scene) isFull(v view) bool { return hasMembers(s.wanted)(v) }

// emptyPool takes away what the warming up has made.
func emptyPool(ctx context.Context, r *round) error {
	if err := r.setReplicas(ctx, poolName, 0); err != nil {
		return err
	}
	if r.side == oursSide {
		if err := r.awaitMembers(ctx, 0); err != nil {
			return err
		}
	}
	if err := r.deleteAll(ctx); err != nil {
		return err
	}
	return r.awaitEmpty(ctx)
}

func (c clients) setReplicas(ctx context.Context, pool string, replicas int) error {
	err := patchInto(ctx, c.extensions.Patch(types.MergePatchType).Namespace(namespace).Resource(poolResource).Name(pool),
		map[string]any{"spec": map[string]any{"replicas": replicas}}, &extensionsv1beta1.SandboxWarmPool{})
	if err != nil {
		return fmt.Errorf("setting the replicas of SandboxWarmPool %q: %w", pool, err)
	}
	return nil
}
