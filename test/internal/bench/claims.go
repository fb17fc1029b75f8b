package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"

	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

const (
	claimFloor = "a client creates the claim and makes itself the two writes that no controller can avoid: it hands over a Sandbox " +
		"that stands ready, and publishes the claim's status; no controller runs"
	claimOurs = "a client creates the claim, and waits for its condition"
)

// claimsBurst is as many claims as the pool has members, as fast as they come.
func claimsBurst() benchmark {
	return claims(benchmark{
		name:    "claims-burst",
		summary: "claims come at once on a pool that has a member for each",
		floor:   claimFloor,
		load:    burst,
	}, judgeWarm, noFigures)
}

func burst(o Options) load {
	return load{count: o.Count, parallel: o.Parallel, pool: o.Count, stock: o.Count}
}

// claimsContract is the burst beside a client that owes a claim what a controller owes it: the bound of what one can reach.
func claimsContract() benchmark {
	b := claims(benchmark{
		name:    "claims-contract",
		summary: "claims-burst beside a client that makes all four writes that the contract of a claim asks for",
		floor: "a client creates the claim, hands over a Sandbox that has a Pod and annotates the claim beside it, publishes the claim's status, " +
			"and labels the Pod; no controller runs",
		load: burst,
		bind: (*scene).claimAndServe,
	}, judgeWarm, noFigures)
	b.prepare = prepareMembersWithPods
	return b
}

// claimsUnloaded is a claim now and then, on a pool that is refilled meanwhile.
func claimsUnloaded() benchmark {
	const pause = 200 * time.Millisecond
	return claims(benchmark{
		name:    "claims-unloaded",
		summary: "5 claims come in each second, a fifth of --count, on a pool that has room for a sixth of it",
		floor:   claimFloor,
		load: func(o Options) load {
			count := max(1, o.Count/5)
			return load{count: count, parallel: o.Parallel, every: pause, pool: max(o.Parallel, o.Count/6), stock: count}
		},
	}, judgeWarm, noFigures)
}

// claimsDrained is more claims than there are members.
func claimsDrained() benchmark {
	return claims(benchmark{
		name: "claims-drained",
		summary: "two thirds of --count claims come, two fifths of --parallel at a time, on a pool that has a member for one in five " +
			"of them",
		floor: claimFloor + "; once none is left, it makes Sandbox and Pod for the claim, and waits for the Pod",
		load: func(o Options) load {
			count := max(1, o.Count*2/3)
			members := max(1, count/5)
			return load{count: count, parallel: max(1, o.Parallel*2/5), pool: members, stock: members}
		},
	}, judgeDrained, coldFigures)
}

// claimsSustained is claims that keep coming, at a rate that leaves room for the refill: a third of what the floor does at once.
// Pools of three eighths of --count are those of the published figures, 113 each at 300. Claims stay until the end.
func claimsSustained() benchmark {
	const pools, ofCount, share = 4, 3.0 / 8, 1.0 / 3
	return claims(benchmark{
		name: "claims-sustained",
		summary: "claims come for --duration on 4 pools in turn, each with a member for three eighths of --count, at a third of the rate " +
			"of the floor of claims-burst",
		floor: claimFloor,
		load: func(o Options) load {
			return load{count: 1, parallel: o.Parallel, lasts: o.Duration, pools: pools, pool: int(math.Ceil(float64(o.Count) * ofCount))}
		},
		against: []yardstick{{claimsBurst, floorSide, rate}, {claimsUnloaded, oursSide, latencyP50}},
		fit: func(l load, found []float64) load {
			l.every = time.Duration(float64(time.Second) / (found[0] * share))
			l.count = max(1, int(l.lasts/l.every))
			l.stock, l.unloaded = l.count, found[1]
			return l
		},
	}, judgeSustained, sustainedFigures)
}

// claims completes a benchmark of one phase in which each object is a claim.
func claims(b benchmark, judge judgment, more figures) benchmark {
	b.ours = claimOurs
	if b.bind == nil {
		b.bind = (*scene).claimAndBind
	}
	b.controllers = controllers()
	b.prepare = prepareMembers
	b.recover = recoverMembers
	b.phases = func(s *scene) []phase {
		return []phase{{
			name:    "claim",
			floor:   step{do: func(ctx context.Context, name string) error { return b.bind(s, ctx, name) }, reached: isClaimed, want: "Ready=True with a Sandbox"},
			ours:    step{do: s.createClaim, reached: isClaimed, want: "Ready=True with a Sandbox"},
			judge:   judge,
			figures: more,
		}}
	}
	return b
}

func isClaimed(v view) bool {
	return v.claim != nil && v.claim.Status.Sandbox.Name != "" &&
		meta.IsStatusConditionTrue(v.claim.Status.Conditions, extensionsv1beta1.ConditionReady)
}

// readyMembers is how many members of the pool are Ready.
func readyMembers(v view) int {
	ready := 0
	for _, member := range v.members {
		if isTrueNow(member, extensionsv1beta1.ConditionReady) {
			ready++
		}
	}
	return ready
}

// hasMembers says whether so many members of the pool are Ready, and no other is there.
func hasMembers(count int) func(view) bool {
	return func(v view) bool { return readyMembers(v) == count && len(v.members) == count }
}

// prepareMembers makes a template and a pool with its members. The floor makes them itself, and so many more as the warming up
// will use.
func prepareMembers(ctx context.Context, s *scene, of side) error { return s.prepare(ctx, of, false) }

// prepareMembersWithPods is prepareMembers with a Pod for each member of the floor's.
func prepareMembersWithPods(ctx context.Context, s *scene, of side) error {
	return s.prepare(ctx, of, true)
}

func (s *scene) prepare(ctx context.Context, of side, pods bool) error {
	pools, err := s.createPools(ctx, s.load.poolNames(), s.load.pool)
	if err != nil {
		return err
	}
	if of == floorSide {
		return s.fillStock(ctx, pools, s.load.warmUp()+s.load.stock, pods)
	}
	return s.awaitMembers(ctx, s.load.pool)
}

func recoverMembers(ctx context.Context, r *round) error {
	if r.side == oursSide {
		if err := r.awaitMembers(ctx, r.load.pool); err != nil {
			return err
		}
	}
	r.stock.limit(r.load.stock)
	return r.settle(ctx)
}

// awaitMembers waits until each pool has exactly so many members, all of them Ready.
func (s *scene) awaitMembers(ctx context.Context, count int) error {
	return poll(ctx, "the members of the pool", func() (bool, error) {
		complete := true
		for _, pool := range s.load.poolNames() {
			s.tracker.look(pool, func(v view) { complete = complete && hasMembers(count)(v) })
		}
		return complete, nil
	})
}

// makeClaim creates a claim on the pool whose turn it is.
func (s *scene) makeClaim(ctx context.Context, name string) (*extensionsv1beta1.SandboxClaim, error) {
	pools := s.load.poolNames()
	turn := s.claimed.Add(1) % int64(len(pools))
	return s.postClaim(ctx, name, pools[turn])
}

// claimAndBind is what the floor does about a claim: with a Sandbox of its stock, or with one that it makes now.
func (s *scene) claimAndBind(ctx context.Context, name string) error {
	claim, err := s.makeClaim(ctx, name)
	if err != nil {
		return err
	}
	member, ok := s.stock.take()
	if !ok {
		return s.startCold(ctx, claim)
	}
	if err := s.handOver(ctx, member, claim); err != nil {
		return err
	}
	return s.publish(ctx, claim, member.Name)
}

// claimAndServe is claimAndBind with all else that a claim is promised: what is observed on it, and labels on the Pod.
func (s *scene) claimAndServe(ctx context.Context, name string) error {
	claim, err := s.makeClaim(ctx, name)
	if err != nil {
		return err
	}
	member, ok := s.stock.take()
	if !ok {
		return fmt.Errorf("no member is left for claim %q", name)
	}
	group, beside := errgroup.WithContext(ctx)
	annotated := claim
	group.Go(func() (err error) {
		annotated, err = s.observe(beside, claim, member.Name)
		return err
	})
	group.Go(func() error { return s.handOver(beside, member, claim) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.publish(ctx, annotated, member.Name); err != nil {
		return err
	}
	return s.labelPod(ctx, member.Name, claim)
}

func (s *scene) createClaim(ctx context.Context, name string) error {
	_, err := s.makeClaim(ctx, name)
	return err
}

// startCold makes what a pool without members is made for to spare.
func (s *scene) startCold(ctx context.Context, claim *extensionsv1beta1.SandboxClaim) error {
	ready := s.tracker.await(claim.Name, hasReadyPod)
	sandbox := desiredCold(claim)
	created, err := s.createOwned(ctx, sandbox)
	if err != nil {
		return err
	}
	if err := s.createPod(ctx, desiredPod(created)); err != nil {
		return err
	}
	select {
	case <-ready:
		return s.publish(ctx, claim, created.Name)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
