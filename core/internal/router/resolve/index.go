package resolve

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/shared/ownership"
)

const (
	// suspicion is for how long a Pod whose host was unreachable is passed over.
	suspicion = 5 * time.Second
	// farewell is for how long what a Pod still said is on its way once the Pod is gone.
	farewell = 2 * time.Second
)

// pod is a version of a Pod of a sandbox.
type pod struct {
	sandbox    types.NamespacedName
	sandboxUID types.UID
	addresses  []netip.Addr
	ready      bool
	ending     bool
	// pooled says that it carries the label of a warm pool, which it still does for a moment after a claim.
	pooled bool
	*history
}

// history is what all versions of a Pod have in common.
type history struct {
	uid  types.UID
	life context.Context //nolint:containedctx // It is the Pod's, not that of a call.
	end  context.CancelFunc
	// claimed says that the API server told so, though the label may not.
	claimed atomic.Bool
	// suspectUntil is when a Pod whose host was unreachable may be tried again, in nanoseconds since 1970.
	suspectUntil atomic.Int64
}

// Index knows the Pods of sandboxes. It is fed by an informer, and safe for concurrent use. Whatever happens to a Pod is kept by its UID,
// so that nothing that is told late of a Pod touches the one that came after it.
type Index struct {
	clock clock.WithDelayedExecution

	mu        sync.RWMutex
	pods      map[types.UID]*pod
	bySandbox map[types.NamespacedName][]*pod
	byUID     map[types.UID][]*pod
	byAddress map[netip.Addr][]*pod
}

var _ toolscache.ResourceEventHandler = &Index{}

// NewIndex returns an empty one.
func NewIndex(c clock.WithDelayedExecution) *Index {
	return &Index{
		clock: c, pods: map[types.UID]*pod{}, bySandbox: map[types.NamespacedName][]*pod{},
		byUID: map[types.UID][]*pod{}, byAddress: map[netip.Addr][]*pod{},
	}
}

// OnAdd implements toolscache.ResourceEventHandler.
func (x *Index) OnAdd(obj any, _ bool) {
	if seen, ok := obj.(*corev1.Pod); ok {
		x.put(seen)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (x *Index) OnUpdate(before, now any) {
	old, _ := before.(*corev1.Pod)
	seen, ok := now.(*corev1.Pod)
	if !ok {
		return
	}
	if old != nil && old.UID != seen.UID {
		x.Forget(old.UID)
	}
	x.put(seen)
}

// OnDelete implements toolscache.ResourceEventHandler.
func (x *Index) OnDelete(obj any) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if seen, ok := obj.(*corev1.Pod); ok {
		x.Forget(seen.UID)
	}
}

// put replaces what is known of a Pod. A Pod that no Sandbox controls is none of a sandbox, whatever its labels.
func (x *Index) put(seen *corev1.Pod) {
	owner, ok := ownership.ControllerOf(seen, schema.GroupKind{Group: sandboxv1beta1.GroupName, Kind: sandboxv1beta1.SandboxKind})
	if !ok {
		x.Forget(seen.UID)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	now := &pod{
		sandbox: types.NamespacedName{Namespace: seen.Namespace, Name: owner.Name}, sandboxUID: owner.UID, addresses: addressesOf(seen),
		ready: isReady(seen), ending: isEnding(seen), pooled: seen.Labels[sandboxv1beta1.LabelWarmPool] != "",
	}
	if before := x.pods[seen.UID]; before != nil {
		now.history = before.history
		x.remove(before)
	} else {
		now.history = &history{uid: seen.UID}
		now.life, now.end = context.WithCancel(context.Background())
	}
	x.pods[seen.UID] = now
	x.bySandbox[now.sandbox] = append(x.bySandbox[now.sandbox], now)
	x.byUID[now.sandboxUID] = append(x.byUID[now.sandboxUID], now)
	for _, address := range now.addresses {
		x.byAddress[address] = append(x.byAddress[address], now)
	}
}

// Forget drops a Pod. What goes on with it ends a moment later.
func (x *Index) Forget(uid types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if gone := x.pods[uid]; gone != nil {
		delete(x.pods, uid)
		x.remove(gone)
		x.clock.AfterFunc(farewell, gone.end)
	}
}

// remove takes a version of a Pod out of all lists.
func (x *Index) remove(gone *pod) {
	without(x.bySandbox, gone.sandbox, gone)
	without(x.byUID, gone.sandboxUID, gone)
	for _, address := range gone.addresses {
		without(x.byAddress, address, gone)
	}
}

func without[K comparable](lists map[K][]*pod, key K, gone *pod) {
	// A new list: readers may hold the old one.
	rest := slices.DeleteFunc(slices.Clone(lists[key]), func(p *pod) bool { return p == gone })
	if len(rest) == 0 {
		delete(lists, key)
		return
	}
	lists[key] = rest
}

// suspect has a Pod passed over for a while. It says whether that Pod is known and was not passed over before.
func (x *Index) suspect(uid types.UID) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	known := x.pods[uid]
	if known == nil {
		return false
	}
	now := x.clock.Now()
	before := known.suspectUntil.Swap(now.Add(suspicion).UnixNano())
	return before <= now.UnixNano()
}

func (x *Index) named(sandbox types.NamespacedName) []*pod {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.bySandbox[sandbox]
}

func (x *Index) withUID(uid types.UID) []*pod {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byUID[uid]
}

// at are the Pods that have an address, of which a Pod that has ended no longer is one.
func (x *Index) at(address netip.Addr) []*pod {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byAddress[address]
}

func isReady(seen *corev1.Pod) bool {
	return slices.ContainsFunc(seen.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isEnding says whether a Pod is on its way out or has ended: it is not the one that its Sandbox goes on with.
func isEnding(seen *corev1.Pod) bool {
	return seen.DeletionTimestamp != nil || seen.Status.Phase == corev1.PodSucceeded || seen.Status.Phase == corev1.PodFailed
}

func addressesOf(seen *corev1.Pod) []netip.Addr {
	var all []netip.Addr
	for _, ip := range seen.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			all = append(all, address.Unmap())
		}
	}
	return all
}
