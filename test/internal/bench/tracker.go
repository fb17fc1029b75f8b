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
)

// view is what is seen of a name: the Sandbox of that name and the Pods that it owns.
type view struct {
	sandbox *sandboxv1beta1.Sandbox
	pods    map[types.UID]*corev1.Pod
	// Of the present phase: the Pods that appeared, and when one first appeared and was ready.
	newPods           map[types.UID]bool
	podMade, podReady time.Time
}

// goal is something that is waited for.
type goal struct {
	reached func(view) bool
	at      chan time.Time
}

// tracker watches a namespace and knows when what was first seen. Both sides of a benchmark are watched alike.
type tracker struct {
	mu     sync.Mutex
	views  map[string]*view
	goals  map[string]goal
	events int64
	stop   func()
}

// startTracker returns a tracker that has seen all there is. close ends it.
func startTracker(ctx context.Context, c clients) (*tracker, error) {
	ctx, cancel := context.WithCancel(ctx)
	t := &tracker{views: map[string]*view{}, goals: map[string]goal{}}
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
	start(c.sandboxes, sandboxResource, &sandboxv1beta1.Sandbox{})
	start(c.kubernetes.CoreV1().RESTClient(), "pods", &corev1.Pod{})
	t.stop = func() {
		cancel()
		watches.Wait()
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		t.stop()
		return nil, errors.New("listing Sandboxes and Pods: interrupted")
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
	case *sandboxv1beta1.Sandbox:
		t.view(obj.Name).seeSandbox(obj, is)
		t.check(obj.Name, now)
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
		v = &view{pods: map[types.UID]*corev1.Pod{}, newPods: map[types.UID]bool{}}
		t.views[name] = v
	}
	return v
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

// check ends the wait for a name, if what is waited for has come.
func (t *tracker) check(name string, now time.Time) {
	if g, waiting := t.goals[name]; waiting && g.reached(*t.views[name]) {
		delete(t.goals, name)
		g.at <- now
	}
}

// beginPhase forgets which Pods are new.
func (t *tracker) beginPhase() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.views {
		clear(v.newPods)
		v.podMade, v.podReady = time.Time{}, time.Time{}
	}
}

// await returns where the time will be found at which reached is first true of something seen from now on.
func (t *tracker) await(name string, reached func(view) bool) <-chan time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := goal{reached: reached, at: make(chan time.Time, 1)}
	t.goals[name] = g
	return g.at
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

// empty says whether no object is left, and if so forgets all names.
func (t *tracker) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.views {
		if v.sandbox != nil || len(v.pods) > 0 {
			return false
		}
	}
	clear(t.views)
	return true
}
