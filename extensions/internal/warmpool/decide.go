package warmpool

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
)

// Limits bound what a pool does.
type Limits struct {
	// Batch is how many members are made, and how many are deleted, in one pass; above 0.
	Batch int
	// Grace is how long a member may take to become Ready, unless its pool says otherwise.
	Grace time.Duration
	// Recheck is how soon a pool is looked at again whose members find no node.
	Recheck time.Duration
}

// longestJitter spreads the moments at which members of the same age are given up.
const longestJitter = 5 * time.Second

// decide returns what brings a pool that is not being deleted to its size.
func decide(s seen, limits Limits) plan {
	var p plan
	doomed, kept := sortOut(s, limits, &p)
	doomed = append(doomed, surplus(s, kept)...)
	for _, member := range doomed[:min(len(doomed), limits.Batch)] {
		p.remove = append(p.remove, target{name: member.Name, uid: member.UID, resourceVersion: member.ResourceVersion})
	}
	if slices.ContainsFunc(kept, isHeld) {
		p.wakeWithin(limits.Recheck)
	}
	refill(s, limits, &p)
	return p
}

// sortOut parts the members that nobody has deleted: those that have had their time, or are stale where that is a reason to go,
// and the others.
func sortOut(s seen, limits Limits, p *plan) (doomed, kept []*sandboxv1beta1.Sandbox) {
	recreate := s.pool.Spec.UpdateStrategy.Type == extensionsv1beta1.UpdateStrategyRecreate
	noRoom := s.findsNoRoom()
	for _, member := range s.standing() {
		// One that is Ready on a node that is closed is as good as before once the node is: it goes only where another finds room.
		held := isHeld(member) || noRoom && isStarted(member)
		waits := !s.isReady(member) && !held
		left := s.left(member, limits)
		switch {
		case (recreate || !isStarted(member)) && !s.isFresh(member):
			doomed = append(doomed, member)
		case waits && left <= 0:
			doomed = append(doomed, member)
		default:
			kept = append(kept, member)
			if waits {
				p.wakeWithin(left)
			}
		}
	}
	return doomed, kept
}

// surplus are the members beyond the pool's size: those that are of least use first.
func surplus(s seen, kept []*sandboxv1beta1.Sandbox) []*sandboxv1beta1.Sandbox {
	beyond := len(kept) - s.replicas()
	if beyond <= 0 {
		return nil
	}
	ordered := slices.Clone(kept)
	slices.SortFunc(ordered, func(a, b *sandboxv1beta1.Sandbox) int {
		return cmp.Or(
			falseFirst(s.isReady(a), s.isReady(b)),
			falseFirst(s.isFresh(a), s.isFresh(b)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return ordered[:beyond]
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// refill makes members up to the pool's size. Those on their way out count until they are gone, and so do those that may or may
// not have been made: the pool never grows beyond its size.
func refill(s seen, limits Limits, p *plan) {
	if s.population() > s.replicas() {
		p.drop = s.pending
		return
	}
	if s.template == nil {
		return
	}
	p.retry = s.pending
	missing := s.replicas() - s.population()
	if missing > 0 && s.held > 0 {
		p.wakeWithin(s.heldFor)
	}
	// What is made again is part of the batch.
	due := min(missing-s.held, limits.Batch-len(p.retry))
	switch {
	case due <= 0:
	case s.yielded > 0:
		p.wakeWithin(s.yielded)
	case s.tokens == 0:
		p.wakeWithin(s.nextToken)
	default:
		p.create = min(due, s.tokens)
	}
}

// jitter is up to a tenth of the grace period, the same for a member each time.
func jitter(uid types.UID, grace time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash.Hash never returns an error
	return min(grace/10, longestJitter) * time.Duration(h.Sum32()%1000) / 1000
}
