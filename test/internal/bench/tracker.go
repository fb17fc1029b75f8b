package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	sandboxv1beta1 "sigs.k8s.io/agent-sandbox/core/api/v1beta1"
	extensionsv1beta1 "sigs.k8s.io/agent-sandbox/extensions/api/v1beta1"
	"sigs.k8s.io/agent-sandbox/test/internal/promises"
)

// view is what is seen of a name: the claim and the Sandbox of that name, the Pods that the Sandbox owns, and the members of
// the pool of that name.
type view struct {
	claim   *extensionsv1beta1.SandboxClaim
	sandbox *sandboxv1beta1.Sandbox
	pods    map[types.UID]*corev1.Pod
	members map[types.UID]*sandboxv1beta1.Sandbox
	// Of the present phase: the Pods that appeared, and when one first appeared and was ready.
	newPods           map[types.UID]bool
	podMade, podReady time.Time
	// Of the present phase: how many members there were at most, and when each was first Ready.
	mostMembers  int
	membersReady map[types.UID]time.Time
	// fewestReady is how many members were Ready when it was fewest, in the present phase.
	fewestReady int
}

// goal is something that is waited for.
type goal struct {
	reached func(view) bool
	at      chan time.Time
}

// tracker watches a namespace and knows when what was first seen. Both sides of a benchmark are watched alike.
type tracker struct {
	mu    sync.Mutex
	views map[string]*view
	goals map[string][]goal
	// poolOf is the name of the pool that a Sandbox is a member of.
	poolOf map[types.UID]string
	ledger promises.Ledger
	events int64
	stop   func()
}

func newTracker() *tracker {
	return &tracker{views: map[string]*view{}, goals: map[string][]goal{}, poolOf: map[types.UID]string{}, ledger: promises.NewLedger()}
}

// startTracker returns a tracker that has seen all there is. close ends it.
func startTracker(ctx context.Context, c clients) (*tracker, error) {
	ctx, cancel := context.WithCancel(ctx)
	t := newTracker()
	var watches sync.WaitGroup
	var synced []cache.InformerSynced
	start := func(client rest.Interface, resource string, object runtime.Object) {
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()),
			ObjectType:    object,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { t.see(obj, present) },
				UpdateFunc: func(_, obj any) { t.see(obj, present) },
				DeleteFunc: func(obj any) { t.see(obj, gone) },
			},
		})
		synced = append(synced, informer.HasSynced)
		watches.Go(func() { informer.RunWithContext(ctx) })
	}
	start(c.extensions, claimResource, &extensionsv1beta1.SandboxClaim{})
	start(c.sandboxes, sandboxResource, &sandboxv1beta1.Sandbox{})
	start(c.kubernetes.CoreV1().RESTClient(), "pods", &corev1.Pod{})
	t.stop = func() {
		cancel()
		watches.Wait()
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		t.stop()
		return nil, errors.New("listing claims, Sandboxes and Pods: interrupted")
	}
	return t, nil
}

func (t *tracker) close() { t.stop() }

// presence says whether an object is there.
type presence int

const (
	present presence = iota
	gone
)

func (t *tracker) see(obj any, is presence) {
	now := time.Now()
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events++
	switch obj := obj.(type) {
	case *extensionsv1beta1.SandboxClaim:
		t.view(obj.Name).seeClaim(obj, is)
		t.ledger.SeeClaim(obj)
		t.check(obj.Name, now)
	case *sandboxv1beta1.Sandbox:
		t.view(obj.Name).seeSandbox(obj, is)
		t.ledger.SeeSandbox(obj)
		t.check(obj.Name, now)
		t.seeMember(obj, is, now)
	case *corev1.Pod:
		name := ownerName(obj)
		t.view(name).seePod(obj, is, now)
		t.check(name, now)
	}
}

func ownerName(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Name
	}
	return pod.Name
}

func (t *tracker) view(name string) *view {
	v, known := t.views[name]
	if !known {
		v = &view{
			pods: map[types.UID]*corev1.Pod{}, newPods: map[types.UID]bool{},
			members: map[types.UID]*sandboxv1beta1.Sandbox{}, membersReady: map[types.UID]time.Time{},
		}
		t.views[name] = v
	}
	return v
}

// seeMember keeps the members of each pool: a Sandbox is one as long as the pool controls it.
func (t *tracker) seeMember(sandbox *sandboxv1beta1.Sandbox, is presence, now time.Time) {
	pool := ""
	if owner := metav1.GetControllerOfNoCopy(sandbox); is == present && owner != nil && owner.Kind == extensionsv1beta1.SandboxWarmPoolKind {
		pool = owner.Name
	}
	if last, known := t.poolOf[sandbox.UID]; known && last != pool {
		delete(t.poolOf, sandbox.UID)
		before := t.view(last)
		delete(before.members, sandbox.UID)
		before.fewestReady = min(before.fewestReady, readyMembers(*before))
		t.check(last, now)
	}
	if pool == "" {
		return
	}
	t.poolOf[sandbox.UID] = pool
	v := t.view(pool)
	v.members[sandbox.UID] = sandbox
	v.mostMembers = max(v.mostMembers, len(v.members))
	v.fewestReady = min(v.fewestReady, readyMembers(*v))
	if _, before := v.membersReady[sandbox.UID]; !before && isTrueNow(sandbox, sandboxv1beta1.ConditionReady) {
		v.membersReady[sandbox.UID] = now
	}
	t.check(pool, now)
}

func (v *view) seeClaim(claim *extensionsv1beta1.SandboxClaim, is presence) {
	v.claim = claim
	if is == gone {
		v.claim = nil
	}
}

func (v *view) seeSandbox(sandbox *sandboxv1beta1.Sandbox, is presence) {
	v.sandbox = sandbox
	if is == gone {
		v.sandbox = nil
	}
}

func (v *view) seePod(pod *corev1.Pod, is presence, now time.Time) {
	if is == gone {
		delete(v.pods, pod.UID)
		return
	}
	if v.pods[pod.UID] == nil {
		v.newPods[pod.UID] = true
		if v.podMade.IsZero() {
			v.podMade = now
		}
	}
	v.pods[pod.UID] = pod
	if v.podReady.IsZero() && isPodReady(pod) {
		v.podReady = now
	}
}

// check ends the waits for a name whose goal has come.
func (t *tracker) check(name string, now time.Time) {
	var waiting []goal
	for _, g := range t.goals[name] {
		if g.reached(*t.views[name]) {
			g.at <- now
		} else {
			waiting = append(waiting, g)
		}
	}
	t.goals[name] = waiting
}

// beginPhase forgets what is of one phase only.
func (t *tracker) beginPhase() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.views {
		clear(v.newPods)
		v.podMade, v.podReady = time.Time{}, time.Time{}
		clear(v.membersReady)
		v.mostMembers, v.fewestReady = len(v.members), readyMembers(*v)
	}
}

// await returns where the time will be found at which reached is first true of something seen from now on.
func (t *tracker) await(name string, reached func(view) bool) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := goal{reached: reached, at: make(chan time.Time, 1)}
	t.goals[name] = append(t.goals[name], g)
	return g.at
}

// broken lists the promises about claims that were not kept so far.
func (t *tracker) broken() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.Broken()
}

// look calls use with what is seen of a name.
func (t *tracker) look(name string, use func(view)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	use(*t.view(name))
}

// activity grows with everything that is seen.
func (t *tracker) activity() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events
}

// census lists what is there.
func (t *tracker) census() census {
	t.mu.Lock()
	defer t.mu.Unlock()
	var c census
	for name, v := range t.views {
		if v.claim != nil {
			c.claims = append(c.claims, name)
		}
		if v.sandbox != nil {
			c.sandboxes = append(c.sandboxes, name)
		}
		for _, pod := range v.pods {
			c.pods = append(c.pods, pod.Name)
		}
	}
	return c
}

// empty says whether no object is left, and if so forgets all names.
func (t *tracker) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.views {
		if v.claim != nil || v.sandbox != nil || len(v.pods) > 0 {
			return false
		}
	}
	clear(t.views)
	clear(t.goals)
	return true
}
