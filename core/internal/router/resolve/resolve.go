package resolve

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/agent-sandbox/core/internal/router/target"
)

const (
	// learnt is for how long an answer of the API server with an address stands in for a Pod that is not watched.
	learnt = time.Second
	// mostLearnt is how many such answers are kept.
	mostLearnt = 1024
)

// Watching resolves by the Pods that it knows, and asks the API server about others: whatever it returns is a sandbox's that is nobody
// else's, and none that waits in a warm pool.
type Watching struct {
	index         *Index
	lookup        lookup
	clusterDomain string
	learnt        *utilcache.LRUExpireCache
}

// NewWatching returns a Watching that asks live about Sandboxes which are not in the index.
func NewWatching(index *Index, live client.Reader, clusterDomain string) *Watching {
	return &Watching{
		index: index, lookup: lookup{live: live, once: &singleflight.Group{}}, clusterDomain: clusterDomain,
		learnt: utilcache.NewLRUExpireCacheWithClock(mostLearnt, index.clock),
	}
}

// Resolve returns the endpoint by the first that leads to one: the address of the request, where it is that sandbox's; the UID; the name;
// what the API server says of a Sandbox whose Pod is not known; the Service of that. The error is a *Failure, or that of ctx.
func (w *Watching) Resolve(ctx context.Context, wanted target.Target) (Endpoint, error) {
	named := w.index.named(wanted.Sandbox)
	found, reason, err := w.first(ctx, wanted, named)
	switch {
	case err != nil:
		return Endpoint{}, err
	case found != nil:
		return found.endpoint(wanted.PodIP), nil
	case len(named) > 0 && reason != suspected:
		return Endpoint{}, &Failure{Reason: reason}
	}
	return w.ask(ctx, wanted)
}

// suspected is the standing of a Pod whose host was unreachable a moment ago.
const suspected Reason = "unreachable"

// first goes through what the request may be known by. Without a Pod it returns why the last had none.
func (w *Watching) first(ctx context.Context, wanted target.Target, named []*pod) (*pod, Reason, error) {
	var ways [][]*pod
	if wanted.PodIP.IsValid() {
		ways = append(ways, slices.DeleteFunc(slices.Clone(w.index.at(wanted.PodIP)), func(p *pod) bool { return !isOf(p, wanted) }))
	}
	if wanted.UID != "" {
		ways = append(ways, w.index.withUID(wanted.UID))
	}
	reason := Unknown
	for _, pods := range append(ways, named) {
		var chosen *pod
		chosen, reason = choose(pods, w.index.clock.Now())
		if reason == Unclaimed {
			claimed, err := w.isClaimed(ctx, chosen)
			if err != nil {
				return nil, "", err
			}
			if claimed {
				return chosen, "", nil
			}
		} else if chosen != nil {
			return chosen, "", nil
		}
	}
	return nil, reason, nil
}

// isOf says that a Pod is of the Sandbox that a request names. Addresses are used again: that of a Pod which is gone may be another sandbox's.
func isOf(p *pod, wanted target.Target) bool {
	return p.sandbox == wanted.Sandbox || wanted.UID != "" && p.sandboxUID == wanted.UID
}

// choose returns the Pod to go to, or why there is none. Of one that looks unclaimed it returns both.
func choose(pods []*pod, now time.Time) (*pod, Reason) {
	var chosen *pod
	for _, candidate := range pods {
		if candidate.ending {
			continue
		}
		if chosen != nil {
			return nil, Several
		}
		chosen = candidate
	}
	switch {
	case chosen == nil && len(pods) == 0:
		return nil, Unknown
	case chosen == nil || !chosen.ready || len(chosen.addresses) == 0:
		return nil, NotReady
	case chosen.suspectUntil.Load() > now.UnixNano():
		return nil, suspected
	case chosen.pooled && !chosen.claimed.Load():
		return chosen, Unclaimed
	}
	return chosen, ""
}

// isClaimed asks who owns the Sandbox of a Pod that carries the label of a pool: the label goes a moment after the claim. That it was
// claimed once is remembered, since no Sandbox goes back.
func (w *Watching) isClaimed(ctx context.Context, looks *pod) (bool, error) {
	told, err := w.lookup.ask(ctx, looks.sandbox)
	if err != nil {
		return false, failed(ctx, err)
	}
	claimed := told.exists && told.uid == looks.sandboxUID && !told.pooled
	if claimed {
		looks.claimed.Store(true)
	}
	return claimed, nil
}

// ask has the API server tell of a Sandbox whose Pod is not known, or not reached: the watch may be late, or be of other namespaces.
func (w *Watching) ask(ctx context.Context, wanted target.Target) (Endpoint, error) {
	if known, ok := w.learnt.Get(wanted.Sandbox); ok {
		addresses, _ := known.([]netip.Addr)
		return w.of(wanted, addresses), nil
	}
	told, err := w.lookup.ask(ctx, wanted.Sandbox)
	switch {
	case err != nil:
		return Endpoint{}, failed(ctx, err)
	case !told.exists:
		return Endpoint{}, &Failure{Reason: Unknown}
	case told.pooled:
		return Endpoint{}, &Failure{Reason: Unclaimed}
	case told.ready && len(told.addresses) > 0:
		w.learnt.Add(wanted.Sandbox, told.addresses, learnt)
		return w.of(wanted, told.addresses), nil
	case told.service:
		return Endpoint{Sandbox: wanted.Sandbox, Host: serviceHost(wanted.Sandbox, w.clusterDomain), Life: context.Background()}, nil
	}
	return Endpoint{}, &Failure{Reason: NotReady}
}

func (w *Watching) of(wanted target.Target, addresses []netip.Addr) Endpoint {
	return Endpoint{Sandbox: wanted.Sandbox, Host: preferred(addresses, wanted.PodIP).String(), Life: context.Background()}
}

func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Failure{Reason: LookupFailed, Cause: err}
}

// Evict has an endpoint passed over for a while, since its host could not be reached. It says whether that was news.
func (w *Watching) Evict(unreachable Endpoint) bool {
	w.learnt.Remove(unreachable.Sandbox)
	return unreachable.Pod != "" && w.index.suspect(unreachable.Pod)
}

func (p *pod) endpoint(wanted netip.Addr) Endpoint {
	return Endpoint{Sandbox: p.sandbox, Host: preferred(p.addresses, wanted).String(), Pod: p.uid, Life: p.life}
}

// preferred is the address that a request names, where it is one of these, else the first.
func preferred(addresses []netip.Addr, wanted netip.Addr) netip.Addr {
	if slices.Contains(addresses, wanted) {
		return wanted
	}
	return addresses[0]
}
